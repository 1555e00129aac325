package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s-cli/pkg/task"
)

// The tasks of a job group start together or not at all. The first task drives the start: its
// reconciliation creates the Jobs of all tasks, suspended, and appends Applied for the first task
// last. Only then are the Jobs of any task resumed. The scripts begin when all pods have an
// address, because each pod gets the addresses of all pods for its /etc/hosts.

func keyOf(v task.View) task.Key { return task.Key{Kind: task.KindTask, ID: v.Submit.ID} }

// gangOf returns the tasks whose Jobs are created with those of v: v alone, or all tasks of the
// job group that v leads. gangOf returns nil if the job group changes at the moment: the change
// enqueues its tasks again.
func (c *Controller) gangOf(v task.View) []task.View {
	g := v.Submit.JobGroup
	if g == nil {
		return []task.View{v}
	}
	ids := c.projection.JobGroup(g.ID)
	gang := make([]task.View, 0, len(ids))
	for _, id := range ids {
		if m := c.projection.TaskView(id); m.Record != nil && !m.Phase.Over() {
			gang = append(gang, m)
		}
	}
	if len(gang) != g.Tasks || gang[0].UIDs != nil {
		return nil
	}
	return gang
}

// prepare determines the claims that the tasks mount. ready means that every task has its claims.
func (c *Controller) prepare(ctx context.Context, gang []task.View) (ready bool, err error) {
	ready = true
	for _, v := range gang {
		if len(v.Submit.Task.Volumes) == 0 || v.Claims != nil {
			continue
		}
		ready = false
		if len(v.Missing) > 0 {
			err = c.blockOnVolume(ctx, gang[0], v)
		} else if why := c.warnNotShareable(v); why != "" {
			err = c.append(ctx, task.Command{Rejected: &task.Rejected{Key: keyOf(v), Reason: task.ReasonUnshared, Message: why}})
		} else {
			err = c.append(ctx, task.Command{Resolved: &task.Resolved{ID: v.Submit.ID, Claims: v.Resolved}})
		}
		if err != nil {
			return false, err
		}
	}
	return ready, nil
}

// blockOnVolume says in all tasks of a job group that one of them waits for a volume. A change of
// the volume enqueues the task that names it. A single task needs no fact.
func (c *Controller) blockOnVolume(ctx context.Context, first, v task.View) error {
	if v.Submit.JobGroup == nil || first.Reason == task.ReasonVolume {
		return nil
	}
	message := fmt.Sprintf("task %s (%s) of the job group waits for volume %s", v.Submit.ID, v.Name(), v.Missing[0])
	return c.append(ctx, task.Command{Blocked: &task.Blocked{Key: keyOf(first), Reason: task.ReasonVolume, Message: message}})
}

// awaitFirst is apply for a task whose Jobs the first task of its job group creates. A change of
// the volumes of the task matters to the first task.
func (c *Controller) awaitFirst(v task.View) {
	if len(v.Submit.Task.Volumes) > 0 {
		c.Enqueue(task.Key{Kind: task.KindTask, ID: v.Submit.JobGroup.ID})
	}
}

// mayStart reports whether the Jobs of all tasks of the job group of v exist.
func (c *Controller) mayStart(v task.View) bool {
	if !v.Submit.JobGroup.Follows() {
		return true
	}
	first := c.projection.TaskView(v.Submit.JobGroup.ID)
	return first.Record == nil || first.UIDs != nil // the first task may have left the history
}

// publishGroupHosts publishes the names and addresses of all nodes of a job group to each of its
// pods, once all nodes have an address. When a node starts again, its new pod has another address:
// all pods are updated, those that have no addresses yet last, so that no crash leaves one out.
func (c *Controller) publishGroupHosts(ctx context.Context, v task.View) error {
	if v.Submit.JobGroup == nil || !c.mayStart(v) {
		return nil
	}
	var hosts strings.Builder
	var known, lacking []*task.Pod
	for _, id := range c.projection.JobGroup(v.Submit.JobGroup.ID) {
		m := c.projection.TaskView(id)
		for rank, pod := range m.Pods {
			switch {
			case pod != nil && pod.Address != "":
				fmt.Fprintf(&hosts, "%s %s-%d.%s\n", pod.Address, m.Submit.Task.Name, rank, v.Submit.JobGroup.Name)
			case !m.Phase.Over():
				return nil // the change of the pod enqueues its task
			}
			switch {
			case pod == nil || pod.Phase.Over() || m.Phase.Over():
			case pod.HostsPublished:
				known = append(known, pod)
			default:
				lacking = append(lacking, pod)
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	for _, pod := range slices.Concat(known, lacking) {
		err := c.publishToPod(ctx, pod.Name, pod.UID, task.AnnotationGroupHosts, hosts.String())
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("publish the names of the job group to pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// endAuxiliary ends an auxiliary task when its termination_delay has passed. again is the time
// until then, 0 without one. The fold compares log times, so a wrong clock of the leader does not
// end the task early.
func (c *Controller) endAuxiliary(ctx context.Context, v task.View) (again time.Duration, err error) {
	if v.StopAt.IsZero() {
		return 0, nil
	}
	if left := time.Until(v.StopAt); left > 0 {
		return left, nil
	}
	g := v.Submit.JobGroup
	end := &task.Ended{ID: v.Submit.ID, Phase: task.Completed, Nodes: v.NodeList(), Reason: task.ReasonPrimariesDone, NotBefore: v.StopAt}
	end.Message = fmt.Sprintf("the primary tasks of job group %s have completed, and the termination_delay of %s has passed", g.Name, g.TerminationDelay())
	for i := range end.Nodes {
		if n := &end.Nodes[i]; !n.Phase.Over() {
			n.Phase, n.Reason, n.Message = task.Completed, "", ""
		}
	}
	result, err := c.log.Append(ctx, task.Command{Ended: end})
	if result.Rejection == task.RejectedEarly {
		return min(max(g.TerminationDelay()/8, time.Second), time.Minute), err
	}
	return 0, err
}
