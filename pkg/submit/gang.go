package submit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s-cli/pkg/task"
)

// The nodes of a task with several nodes, and the tasks of a job group, start together or not at all:
// they are a gang, see Record.Gang. The first task of a job group drives the start: its
// reconciliation creates the Jobs of all tasks, suspended, and appends Applied for the first task
// last. Only then are the Jobs of any task resumed. The scripts begin when all pods have an address,
// because each pod gets the addresses of all pods.

func keyOf(v task.View) task.Key { return task.Key{Kind: task.KindTask, ID: v.Submit.ID} }

// gangOf returns the tasks whose Jobs are created with those of v: v alone, or all tasks of the
// job group that v leads. gangOf returns nil if the job group changes at the moment: the change
// enqueues its tasks again.
func (c *Controller) gangOf(v task.View) []task.View {
	g := v.Submit.JobGroup
	if g == nil {
		return []task.View{v}
	}
	gang := slices.DeleteFunc(c.members(g), func(m task.View) bool { return m.Phase.Over() })
	if len(gang) != g.Tasks || gang[0].UIDs != nil {
		return nil
	}
	return gang
}

// members returns the tasks of a job group that have a record, in order.
func (c *Controller) members(g *task.JobGroup) (all []task.View) {
	for _, id := range c.store.JobGroup(g.ID) {
		if m := c.store.TaskView(id); m.Record != nil {
			all = append(all, m)
		}
	}
	return all
}

// prepare determines the claims that the tasks mount. ready means that every task has its claims.
func (c *Controller) prepare(ctx context.Context, gang []task.View) (ready bool, err error) {
	unresolved := slices.DeleteFunc(slices.Clone(gang), func(v task.View) bool { return len(v.Submit.Task.Volumes) == 0 || v.Claims != nil })
	if len(unresolved) == 0 {
		return true, nil
	}
	for _, v := range slices.Backward(gang) { // the first task also says what the others miss
		if len(v.Missing) > 0 {
			return false, c.blockOnVolume(ctx, gang[0], v)
		}
	}
	if why := c.warnNotShareable(gang); why != "" {
		return false, c.append(ctx, task.Command{Rejected: &task.Rejected{Key: keyOf(gang[0]), Reason: task.ReasonUnshared, Message: why}})
	}
	for _, v := range unresolved {
		if err := c.append(ctx, task.Command{Resolved: &task.Resolved{ID: v.Submit.ID, Claims: v.Resolved}}); err != nil {
			return false, err
		}
	}
	return false, nil
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

// warnNotShareable returns why not all nodes of a gang can mount its volumes, "" if they can.
// A volume that only one machine can mount suffices if the cluster has only one machine.
func (c *Controller) warnNotShareable(gang []task.View) string {
	if !gang[0].Gang() {
		return ""
	}
	hosts, known := c.store.Nodes().Count()
	return notShareable(gang, hosts, known)
}

func notShareable(gang []task.View, hosts int, known bool) string {
	nodes := map[string]int{} // number of nodes that mount a volume, by name
	for _, v := range gang {
		for name := range v.Modes {
			nodes[name] += v.NumNodes()
		}
	}
	who, advice := "task", "write num_nodes: 1"
	if len(gang) > 1 {
		who, advice = "job group", "mount the volume in one node"
	}
	advice = "create a volume with the access mode ReadWriteMany, give each node its own volume (size instead of name), or " + advice
	for _, v := range gang {
		for _, name := range slices.Sorted(maps.Keys(v.Modes)) {
			modes := v.Modes[name]
			switch {
			case nodes[name] == 1, slices.Contains(modes, "ReadWriteMany"), slices.Contains(modes, "ReadOnlyMany"):
			case slices.Contains(modes, "ReadWriteOncePod"):
				return fmt.Sprintf("volume %s is ReadWriteOncePod: only one pod can mount the volume, but the %s has %d nodes that mount it; %s", name, who, nodes[name], advice)
			case known && hosts > 1:
				return fmt.Sprintf("volume %s is %s: only the pods of one machine can mount the volume, but the %s has %d nodes that mount it, which may run on any of %d machines; %s",
					name, strings.Join(modes, " and "), who, nodes[name], hosts, advice)
			}
		}
	}
	return ""
}

// awaitFirst is apply for a task whose Jobs the first task of its job group creates. A change of
// the volumes of the task matters to the first task.
func (c *Controller) awaitFirst(v task.View) {
	if len(v.Submit.Task.Volumes) > 0 {
		c.Enqueue(task.Key{Kind: task.KindTask, ID: v.Submit.JobGroup.ID})
	}
}

// mayStart reports whether the Jobs of all tasks of the gang of v exist.
func (c *Controller) mayStart(v task.View) bool {
	g := v.Submit.JobGroup
	switch {
	case g == nil:
		return true
	case v.Adopted:
		return len(c.store.JobGroup(g.ID)) == g.Tasks
	}
	first := c.store.TaskView(g.ID)
	return first.Record == nil || first.UIDs != nil // the first task may have left the history
}

// resume resumes the Jobs of a gang once all of them are seen. Each Job is resumed once: a Job that
// was suspended again, for example by a queue, stays suspended. The Job of another task is not
// created suspended.
func (c *Controller) resume(ctx context.Context, v task.View) error {
	if !v.Gang() || slices.Contains(v.Jobs, nil) || !c.mayStart(v) {
		return nil
	}
	for _, job := range v.Jobs {
		if !job.Suspended || job.Resumed || job.Deleting || job.Phase.Over() {
			continue
		}
		err := c.resumeJob(ctx, job.Name, job.UID)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("resume job %s: %w", job.Name, err)
		}
	}
	return nil
}

// adoptionWait is how long the tasks of a job group that were adopted wait for the other tasks: the
// controller adopts all of them when it starts.
const adoptionWait = 10 * time.Minute

// endIncomplete ends an adopted task that never started, if the Jobs of other tasks of its job group do
// not exist. again is the time until then, 0 if the job group is complete.
func (c *Controller) endIncomplete(ctx context.Context, v task.View) (again time.Duration, err error) {
	started := slices.ContainsFunc(v.Jobs, func(j *task.Job) bool { return j != nil && (j.Resumed || !j.Suspended) }) // other tasks may have left the history since
	if !v.Adopted || started || c.mayStart(v) {
		return 0, nil
	}
	if wait := c.waits.remaining(keyOf(v).String(), v.UpdatedAt, adoptionWait); wait > 0 {
		return wait, nil
	}
	g := v.Submit.JobGroup
	message := fmt.Sprintf("the cluster has the Jobs of only %d of the %d tasks of job group %s", len(c.store.JobGroup(g.ID)), g.Tasks, g.Name)
	return 0, c.append(ctx, task.Command{Ended: &task.Ended{ID: v.Submit.ID, Phase: task.Failed, Reason: task.ReasonDeleted, Message: message}})
}
