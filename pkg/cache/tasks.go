package cache

import (
	"k8s-cli/pkg/task"
)

// A taskItem is one task of the picture, or Jobs that carry the id of none.
type taskItem struct {
	id    string
	names []string // of the Jobs that the record asks for, by rank
	jobs  named[task.Job]
	pods  named[task.Pod]
	needs map[string]*needs // of pods that no node has taken, by name
	gone  map[int]*task.Pod // by rank, the last that is gone after it had begun
	waits []string          // names of the volumes that it waits for

	view     task.View
	version  uint64     // of the picture when it changed last
	phase    task.Phase // as rendered
	counted  task.Phase // under which it is counted
	reason   string     // as shown
	queued   bool       // it is in the backlog
	priority int        // in it
	changed  chan struct{}
}

// task returns the item of an id, made if need be.
func (p *Picture) task(id string) *taskItem {
	item := p.tasks[id]
	if item == nil {
		item = &taskItem{id: id}
		p.tasks[id] = item
	}
	return item
}

func (i *taskItem) setRecord(r *task.Record) {
	i.view.Record = r
	if r == nil {
		i.names = nil
	} else if i.names == nil {
		i.names, i.priority = r.JobNames(), r.Submit.Resources().Priority
	}
}

func (i *taskItem) empty() bool {
	return i.view.Record == nil && len(i.jobs) == 0 && len(i.pods) == 0
}

// changes returns a channel that is closed at the next change of the item.
func (i *taskItem) changes() <-chan struct{} {
	if i.changed == nil {
		i.changed = make(chan struct{})
	}
	return i.changed
}

func (i *taskItem) matches(q task.Query) bool {
	return (q.Phase == "" || q.Phase == i.phase) && (q.Name == "" || q.Name == i.view.Name())
}

// refresh joins record, Jobs and pods of an item anew.
func (p *Picture) refresh(i *taskItem) {
	record := i.view.Record
	i.view = task.View{Record: record}
	if record != nil {
		p.wait(i)
		i.view.Released = p.released(record)
	}
	i.join()
	p.queue(i)
	delete(p.unplaced, i)
	if record != nil {
		i.view.Notes = p.notes(i)
		i.phase = p.render.Phase(i.view)
		p.noteChange(record.Submit.User)
		i.version = p.version
		p.count(i, i.phase)
	} else {
		p.count(i, "")
	}
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
}

// join sorts the Jobs and pods of the item into its view.
func (i *taskItem) join() {
	v := &i.view
	v.Jobs, v.Pods = make([]*task.Job, len(i.names)), make([]*task.Pod, len(i.names))
	for _, j := range i.jobs {
		job, rank := j.value, j.value.Rank
		if rank >= len(i.names) || i.names[rank] != job.Name || !v.Owns(job.User, job.Hash) {
			v.Strays = append(v.Strays, job)
			continue
		}
		v.Jobs[rank] = job
	}
	for rank, pod := range i.gone {
		if rank >= len(i.names) || v.Jobs[rank] != nil && v.Jobs[rank].Suspended { // which ended it
			delete(i.gone, rank)
		} else if v.Pods[rank] == nil && v.OfJob(pod) {
			if v.Former == nil {
				v.Former = make([]*task.Pod, len(i.names))
			}
			v.Former[rank] = pod
		}
	}
	for _, p := range i.pods {
		pod := p.value
		if pod.Rank >= len(i.names) || !v.OfJob(pod) {
			continue
		}
		if last := v.Pods[pod.Rank]; last == nil || last.Created.Before(pod.Created) {
			v.Pods[pod.Rank] = pod
		}
	}
}

func (p *Picture) putJob(job *task.Job) {
	p.change(job.TaskID, func(i *taskItem) { i.jobs.put(job.Name, job) })
}

func (p *Picture) dropJob(id, name string) {
	p.change(id, func(i *taskItem) { i.jobs.drop(name) })
}

func (p *Picture) putPod(pod *task.Pod) { p.seePod(&seenPod{Pod: pod}) }

func (p *Picture) seePod(pod *seenPod) {
	p.change(pod.TaskID, func(i *taskItem) {
		i.pods.put(pod.Name, pod.Pod)
		delete(i.needs, pod.Name)
		if pod.needs != nil {
			if i.needs == nil {
				i.needs = map[string]*needs{}
			}
			i.needs[pod.Name] = pod.needs
		}
	})
}

// dropPod forgets a pod that is gone, but how it ended, since its Job may come to
// its own end only after that.
func (p *Picture) dropPod(id, name string) {
	p.change(id, func(i *taskItem) {
		pod := i.pods.drop(name)
		if pod != nil && pod.Phase != task.Pending && i.view.Record != nil && !i.view.Phase.Over() {
			if i.gone == nil {
				i.gone = map[int]*task.Pod{}
			}
			if last := i.gone[pod.Rank]; last == nil || last.Created.Before(pod.Created) {
				i.gone[pod.Rank] = pod
			}
		}
		delete(i.needs, name)
	})
}

func (p *Picture) change(id string, set func(*taskItem)) {
	p.mu.Lock()
	item := p.task(id)
	set(item)
	p.refresh(item)
	p.progress(item)
	if item.empty() {
		delete(p.tasks, id)
		delete(p.unplaced, item)
	}
	p.mu.Unlock()
	p.tell([]task.Key{{Kind: task.KindTask, ID: id}})
}
