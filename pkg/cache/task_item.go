package cache

import (
	"slices"
	"time"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/cache/sorted"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A taskItem is one task of the store, or the Jobs of an id without a record. A taskItem holds
// the inputs of a task.View and not the view, because most of a view can be derived and the
// store may hold hundreds of thousands of items.
type taskItem struct {
	id     string
	record *state.CompactRecord // nil for Jobs without a record
	jobs   sorted.ByName[task.Job]
	pods   sorted.ByName[task.Pod]
	extra  *taskExtra // nil for most tasks

	class    selection.Class // under which the task is counted; zero without a record
	version  uint64          // of the store at the last change of the task
	priority int             // in the backlog
	stage    backlogStage    // in the backlog
	released bool            // see task.View

	unschedulable uint16 // number of its pods for which the scheduler finds no node
}

// A taskExtra holds the fields that few tasks need, and most of those only for a moment.
type taskExtra struct {
	requirements   map[string]*nodefit.Requirements // of pods without a node, by name of the pod
	gone           map[int]*task.Pod                // by rank, the latest deleted pod that had begun
	awaitedVolumes []string                         // names of the volumes that the task waits for
	reason         string                           // the reason last shown
	changed        chan struct{}
	notes          []task.Note
	resolved       map[string]string
	modes          map[string][]string
	missing        []string
}

func (e *taskExtra) empty() bool {
	return len(e.requirements)+len(e.gone)+len(e.awaitedVolumes)+len(e.notes)+len(e.resolved)+len(e.missing) == 0 && e.reason == "" && e.changed == nil
}

// ensureExtra returns the extra fields of the task, and creates them if necessary.
func (i *taskItem) ensureExtra() *taskExtra {
	if i.extra == nil {
		i.extra = &taskExtra{}
	}
	return i.extra
}

func (i *taskItem) setRecord(t *state.CompactRecord) {
	if t != nil && i.record == nil {
		i.id, i.priority = t.ID, t.Record().Submit.Resources().Priority
	}
	i.record = t
	for n, j := range i.jobs {
		i.jobs[n] = i.internJob(j)
	}
	for n, x := range i.pods {
		i.pods[n] = i.internPod(x)
	}
}

// Record returns the record of the task, nil for Jobs without a record.
func (i *taskItem) Record() *state.CompactRecord { return i.record }

// Started returns when the first node began to run, as far as the log or the cluster shows.
func (i *taskItem) Started() time.Time {
	at := i.record.Started()
	if at.IsZero() && len(i.pods) > 0 { // the log does not say so yet
		at = i.runningSince()
	}
	return at
}

func (i *taskItem) empty() bool {
	return i.record == nil && len(i.jobs) == 0 && len(i.pods) == 0
}

// misses reports whether a volume of the task does not exist.
func (i *taskItem) misses() bool { return i.extra != nil && len(i.extra.missing) > 0 }

// jobGroup returns the membership of the task in a job group or nil.
func (i *taskItem) jobGroup() *task.JobGroup {
	if i.record == nil {
		return nil
	}
	return i.record.JobGroup()
}

// isOf reports whether the item is a task of user.
func (i *taskItem) isOf(user string) bool {
	return i != nil && i.record != nil && i.record.User() == user
}

// changes returns a channel that is closed at the next change of the item.
func (i *taskItem) changes() <-chan struct{} {
	f := i.ensureExtra()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// view returns the view of the task. view changes no state.
func (i *taskItem) view() task.View {
	v := task.View{Record: i.record.Record(), Released: i.released}
	if f := i.extra; f != nil {
		v.Notes, v.Resolved, v.Modes, v.Missing = f.notes, f.resolved, f.modes, f.missing
	}
	i.join(&v)
	return v
}

// NodeList implements selection.NodeLister. NodeList returns the nodes of the view, without those
// that have nothing in the cluster.
func (i *taskItem) NodeList() []task.Node {
	nodes, phase := i.record.Nodes(), i.record.Phase()
	absent := len(i.pods) == 0 && i.extra == nil
	switch {
	case phase.Over() && (absent || phase != task.Stopped && len(nodes) == i.record.NumNodes()):
		return nodes
	case absent:
		return nil
	}
	return i.view().NodeList()
}

// setDerived stores the parts of a view that cannot be derived from the other fields, and
// wakes the goroutines that wait for a change.
func (i *taskItem) setDerived(v *task.View) {
	i.dropFormerPods(v)
	i.released = v.Released
	if i.extra == nil && len(v.Notes)+len(v.Resolved)+len(v.Missing) == 0 {
		return
	}
	f := i.ensureExtra()
	f.notes, f.resolved, f.modes, f.missing = v.Notes, v.Resolved, v.Modes, v.Missing
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	if f.empty() {
		i.extra = nil
	}
}

// join assigns the Jobs and pods of the item to the nodes of a view.
func (i *taskItem) join(v *task.View) {
	var names []string // of the Jobs that the record requires, by rank
	if v.Record != nil {
		names = v.JobNames()
	}
	v.Jobs, v.Pods = make([]*task.Job, len(names)), make([]*task.Pod, len(names))
	for _, job := range i.jobs {
		if job.Rank >= len(names) || names[job.Rank] != job.Name || !v.Owns(job.User, job.Hash) {
			v.Orphans = append(v.Orphans, job)
			continue
		}
		v.Jobs[job.Rank] = job
	}
	for _, pod := range i.pods {
		if pod.Rank >= len(names) || !v.OwnsPod(pod) {
			continue
		}
		last := v.Pods[pod.Rank]
		if last == nil || last.Created.Before(pod.Created) {
			v.Pods[pod.Rank], pod = pod, last
		}
		addEarlierPod(v, pod)
	}
	if i.extra == nil {
		return
	}
	for rank, pod := range i.extra.gone {
		if rank < len(names) && v.OwnsPod(pod) && !suspendedAt(v, rank) {
			if v.Former == nil {
				v.Former = make([]*task.Pod, len(names))
			}
			v.Former[rank] = pod
		}
	}
}

// addEarlierPod adds a pod that is not the newest pod of its rank; nil adds nothing.
func addEarlierPod(v *task.View, pod *task.Pod) {
	if pod == nil {
		return
	}
	if v.Earlier == nil {
		v.Earlier = make([][]*task.Pod, len(v.Pods))
	}
	all := v.Earlier[pod.Rank]
	at := len(all)
	for at > 0 && pod.Created.Before(all[at-1].Created) {
		at--
	}
	v.Earlier[pod.Rank] = slices.Insert(all, at, pod)
}

// suspendedAt reports whether the Job of a rank is suspended; a suspended Job has no pods.
func suspendedAt(v *task.View, rank int) bool { return v.Jobs[rank] != nil && v.Jobs[rank].Suspended }

// dropFormerPods removes the deleted pods that no longer matter to the task.
func (i *taskItem) dropFormerPods(v *task.View) {
	if i.extra == nil {
		return
	}
	for rank := range i.extra.gone {
		if rank >= len(v.Jobs) || suspendedAt(v, rank) {
			delete(i.extra.gone, rank)
		}
	}
}

func (i *taskItem) dropRequirements(pod string) {
	if i.extra != nil {
		delete(i.extra.requirements, pod)
	}
}

// unresolvedVolumes returns the names of the volumes that the task waits for because the log
// does not contain their claims yet.
func (i *taskItem) unresolvedVolumes(r *task.Record) []string {
	switch {
	case r.Phase.Over() || r.Claims != nil || len(r.Submit.Task.Volumes) == 0:
		return nil
	case i.extra != nil && i.extra.awaitedVolumes != nil:
		return i.extra.awaitedVolumes
	}
	return volumeNames(r)
}

// requirements returns the requirements of the pods without a node, by the name of the pod.
func (i *taskItem) requirements() map[string]*nodefit.Requirements {
	if i.extra == nil {
		return nil
	}
	return i.extra.requirements
}

// updateReason records why a task waits; changed is false if the reason is the same as before
// or the task is over.
func (i *taskItem) updateReason(v *task.View) (why task.Note, changed bool) {
	if v.Record == nil || v.Phase.Over() {
		return why, false
	}
	before := ""
	if i.extra != nil {
		before = i.extra.reason
	}
	why = v.Explain(v.NodeList())
	if why.Reason == before {
		return why, false
	}
	i.ensureExtra().reason = why.Reason
	return why, true
}

// The methods below apply changes of the cluster to an item.

func jobName(j *task.Job) string { return j.Name }
func podName(p *task.Pod) string { return p.Name }

func (i *taskItem) putJob(job *task.Job) { i.jobs.Set(i.internJob(job), jobName) }

func (i *taskItem) dropJob(name string) { i.jobs.Drop(name, jobName) }

func (i *taskItem) putPod(pod *convert.Pod) {
	i.pods.Set(i.internPod(pod.Pod), podName)
	i.dropRequirements(pod.Name)
	if pod.Requirements != nil {
		f := i.ensureExtra()
		if f.requirements == nil {
			f.requirements = map[string]*nodefit.Requirements{}
		}
		f.requirements[pod.Name] = pod.Requirements
	}
}

// dropPod removes a deleted pod, but retains how the pod ended: its Job may end only after the
// pod.
func (i *taskItem) dropPod(name string) {
	pod := i.pods.Drop(name, podName)
	if pod != nil && pod.Phase != task.Pending && i.record != nil && !i.record.Phase().Over() {
		f := i.ensureExtra()
		if f.gone == nil {
			f.gone = map[int]*task.Pod{}
		}
		if last := f.gone[pod.Rank]; last == nil || last.Created.Before(pod.Created) {
			f.gone[pod.Rank] = pod
		}
	}
	i.dropRequirements(name)
}
