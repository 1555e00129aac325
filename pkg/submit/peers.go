package submit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

// The nodes of a task find each other in two ways: a Service gives them names, and an
// annotation of each pod holds the addresses of all nodes. Another annotation holds the names and
// addresses of all nodes of a job group. The names and the addresses exist before a script begins. The
// controller deletes none of them: the Job of the first node owns the Service.

// ensureService creates the Service of a task with several nodes. first is the UID of the Job
// of the first node. An existing Service of this Job is a success; a Service of a former Job
// of the same name is being deleted.
func (c *Controller) ensureService(ctx context.Context, r *task.Record, first string, seen readPoint) error {
	if r.NumNodes() == 1 {
		return nil
	}
	service := objects.Service(r, c.namespace, first)
	_, err := c.createService(ctx, service, seen)
	if apierrors.IsAlreadyExists(err) {
		err = c.checkService(ctx, service)
	}
	if err != nil {
		return fmt.Errorf("create service %s: %w", service.Name, err)
	}
	return nil
}

// checkService returns an error if the existing Service is not the wanted one.
func (c *Controller) checkService(ctx context.Context, wanted *corev1.Service) error {
	live, err := c.services.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}

// checkDependent is checkOurs for an object that the first Job of a task owns. An object that
// a former Job of that name owns is being deleted.
func checkDependent(live, wanted metav1.Object) error {
	if err := checkOurs(live, wanted); err != nil {
		return err
	}
	if owners := live.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != wanted.GetOwnerReferences()[0].UID {
		return errDeleting
	}
	return nil
}

// restoreService creates the Service of Jobs that are about to be adopted, because their
// controller may have crashed before it created the Service. An error does not prevent the
// adoption: without the Service the nodes have no names, but they still have their addresses.
func (c *Controller) restoreService(ctx context.Context, f *task.Adopted, seen readPoint) {
	if f.UIDs[0] == "" {
		return
	}
	r := &task.Record{Submit: *f.Submit, Hash: f.Hash, CreatedAt: f.CreatedAt}
	if err := c.ensureService(ctx, r, f.UIDs[0], seen); err != nil {
		c.config.Logger.Warn("creating the Service of an adopted task failed; its nodes may have no DNS names", "task", f.Submit.ID, "err", err)
	}
}

// publishAddresses publishes to the pods of v the addresses of the pods of its gang, once all of them
// have one. When a node starts again, its new pod has another address: all pods of a job group are
// updated. The reconciliation of a task writes to the pods of that task alone, so that a slow
// reconciliation cannot overwrite what a later one has written. again is the time after which the
// controller looks whether the pods show the addresses, 0 if they do.
func (c *Controller) publishAddresses(ctx context.Context, v task.View) (again time.Duration, err error) {
	if !v.Gang() || !c.mayStart(v) {
		return 0, nil
	}
	if v.NumNodes() > 1 {
		if text := nodeAddresses(v); text != "" {
			if again, err = c.publish(ctx, v, addressesOf, text); err != nil {
				return 0, err
			}
		}
	}
	if v.Submit.JobGroup == nil {
		return again, nil
	}
	members := c.members(v.Submit.JobGroup)
	text := groupHosts(members)
	if text == "" {
		return again, nil
	}
	for _, m := range members {
		if m.Submit.ID != v.Submit.ID && slices.ContainsFunc(m.Pods, func(p *task.Pod) bool { return c.lacks(m, p, hostsOf, text) }) {
			c.Enqueue(keyOf(m))
		}
	}
	wait, err := c.publish(ctx, v, hostsOf, text)
	return sooner(again, wait), err
}

// nodeAddresses returns the addresses of the nodes of a task, one in each line, "" while a node has
// none: the change of its pod enqueues the task. The pod of a node that has completed may be gone;
// if no pod knows its address any more, its line has its name, because the lines are by rank.
func nodeAddresses(v task.View) string {
	addresses := make([]string, v.NumNodes())
	for rank := range addresses {
		pod, job := v.Pods[rank], v.Jobs[rank]
		if pod == nil && rank < len(v.Former) && job != nil && job.Phase.Over() {
			pod = v.Former[rank]
		}
		switch {
		case pod != nil && pod.Address != "":
			addresses[rank] = pod.Address
		case pod == nil && job != nil && job.Phase.Over():
			addresses[rank] = task.HostName(rank) + "." + task.ServiceName(v.Submit.Task.Name, v.Submit.ID)
		default:
			return ""
		}
	}
	return strings.Join(addresses, "\n")
}

// groupHosts returns lines of /etc/hosts for the nodes of a job group, "" while a node has no
// address. A node that is over needs none.
func groupHosts(members []task.View) string {
	var hosts strings.Builder
	for _, m := range members {
		for rank, pod := range m.Pods {
			switch job := m.Jobs[rank]; {
			case pod != nil && pod.Address != "":
				fmt.Fprintf(&hosts, "%s %s-%d.%s\n", pod.Address, m.Submit.Task.Name, rank, m.Submit.JobGroup.Name)
			case !m.Phase.Over() && (pod != nil || job == nil || !job.Phase.Over()):
				return ""
			}
		}
	}
	return hosts.String()
}

// A published is an annotation with addresses, and the hash of its value that a pod shows.
type published struct {
	annotation string
	shown      func(*task.Pod) uint64
}

var (
	addressesOf = published{task.AnnotationAddresses, func(p *task.Pod) uint64 { return p.Addresses }}
	hostsOf     = published{task.AnnotationGroupHosts, func(p *task.Pod) uint64 { return p.GroupHosts }}
)

// lacks reports whether a pod shall get the text as its annotation: the pod shows another one, and the
// text was not written just now.
func (c *Controller) lacks(v task.View, pod *task.Pod, a published, text string) bool {
	hash := task.HashOf(text)
	return pod != nil && !pod.Phase.Over() && !v.Phase.Over() && a.shown(pod) != hash && !c.publications.recent(pod.UID, hash)
}

// publish writes the text into the annotation of those pods of a task that do not show it.
func (c *Controller) publish(ctx context.Context, v task.View, a published, text string) (again time.Duration, err error) {
	for _, pod := range v.Pods {
		if !c.lacks(v, pod, a, text) {
			continue
		}
		err := c.publishToPod(ctx, pod.Name, pod.UID, a.annotation, text)
		switch {
		case err == nil:
			c.publications.add(pod.UID, task.HashOf(text))
			again = informerGrace
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return 0, fmt.Errorf("publish the addresses of all nodes to pod %s: %w", pod.Name, err)
		}
	}
	return again, nil
}

// publications holds what was written to pods in the last informerGrace, because the informers may
// not show it yet.
type publications struct {
	mu  sync.Mutex
	all map[publication]time.Time
}

type publication struct {
	pod  string // UID
	hash uint64
}

func (p *publications) recent(pod string, hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.all[publication{pod, hash}]) < informerGrace
}

func (p *publications) add(pod string, hash uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const many = 1000
	if p.all == nil {
		p.all = map[publication]time.Time{}
	}
	if len(p.all) >= many {
		maps.DeleteFunc(p.all, func(_ publication, at time.Time) bool { return time.Since(at) >= informerGrace })
	}
	p.all[publication{pod, hash}] = time.Now()
}
