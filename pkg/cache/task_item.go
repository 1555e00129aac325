package cache

import (
	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A taskItem is one task of the store, or Jobs that carry the id of none. It
// holds what a task.View is made from, since most of a view follows from that and
// there may be hundreds of thousands of items.
type taskItem struct {
	id     string
	record *state.CompactRecord // nil for Jobs without a record
	jobs   sortedByName[task.Job]
	pods   sortedByName[task.Pod]
	extra  *taskExtra // nil for most

	phase    task.Phase   // as rendered, under which it is counted; empty without a record
	version  uint64       // of the store when it changed last
	priority int          // in the backlog
	stage    backlogStage // in the backlog
	released bool         // see task.View

	unschedulable uint16 // pods of it for which the scheduler finds no node
}

// taskExtra is what few tasks have, and most for a moment.
type taskExtra struct {
	requirements   map[string]*nodefit.Requirements // of pods that no node has taken, by name
	gone           map[int]*task.Pod                // by rank, the last that is gone after it had begun
	awaitedVolumes []string                         // names of the volumes that it waits for
	reason         string                           // as shown
	changed        chan struct{}
	notes          []task.Note
	resolved       map[string]string
	modes          map[string][]string
	missing        []string
}

func (f *taskExtra) empty() bool {
	return len(f.requirements)+len(f.gone)+len(f.awaitedVolumes)+len(f.notes)+len(f.resolved)+len(f.missing) == 0 && f.reason == "" && f.changed == nil
}

// ensureExtra returns the rare state of the task, made if need be.
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

func (i *taskItem) empty() bool {
	return i.record == nil && len(i.jobs) == 0 && len(i.pods) == 0
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

func (i *taskItem) matches(q task.Query) bool {
	return (q.Phase == "" || q.Phase == i.phase) && (q.Name == "" || q.Name == i.record.Name())
}

// view returns what is known of the item. It changes nothing.
func (i *taskItem) view() task.View {
	v := task.View{Record: i.record.Record(), Released: i.released}
	if f := i.extra; f != nil {
		v.Notes, v.Resolved, v.Modes, v.Missing = f.notes, f.resolved, f.modes, f.missing
	}
	i.join(&v)
	return v
}

// setDerived keeps of a view what does not follow from the rest, and wakes who waits
// for a change.
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

// join sorts the Jobs and pods of the item into a view.
func (i *taskItem) join(v *task.View) {
	var names []string // of the Jobs that the record asks for, by rank
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
		if last := v.Pods[pod.Rank]; last == nil || last.Created.Before(pod.Created) {
			v.Pods[pod.Rank] = pod
		}
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

// suspendedAt reports whether the Job of a rank is suspended, which ends its pods.
func suspendedAt(v *task.View, rank int) bool { return v.Jobs[rank] != nil && v.Jobs[rank].Suspended }

// dropFormerPods forgets the pods that say nothing of the task any more.
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

// unresolvedVolumes returns the names of the volumes that a task waits for, whose
// claims the log does not say yet.
func (i *taskItem) unresolvedVolumes(r *task.Record) []string {
	switch {
	case r.Phase.Over() || r.Claims != nil || len(r.Submit.Task.Volumes) == 0:
		return nil
	case i.extra != nil && i.extra.awaitedVolumes != nil:
		return i.extra.awaitedVolumes
	}
	return volumeNames(r)
}

// requirements returns those of the pods that no node has taken, by name.
func (i *taskItem) requirements() map[string]*nodefit.Requirements {
	if i.extra == nil {
		return nil
	}
	return i.extra.requirements
}

// updateReason notes why a task waits; changed is false if the reason is the same as
// before or the task is over.
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

// What the cluster shows of a task.

func (i *taskItem) putJob(job *task.Job) { i.jobs.put(i.internJob(job), jobName) }

func (i *taskItem) dropJob(name string) { i.jobs.drop(name, jobName) }

func (i *taskItem) putPod(pod *convert.Pod) {
	i.pods.put(i.internPod(pod.Pod), podName)
	i.dropRequirements(pod.Name)
	if pod.Requirements != nil {
		f := i.ensureExtra()
		if f.requirements == nil {
			f.requirements = map[string]*nodefit.Requirements{}
		}
		f.requirements[pod.Name] = pod.Requirements
	}
}

// dropPod forgets a pod that is gone, but how it ended, since its Job may come to
// its own end only after that.
func (i *taskItem) dropPod(name string) {
	pod := i.pods.drop(name, podName)
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
