package cache

import (
	"maps"
	"slices"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/explain"
	"k8s-cli/pkg/task"
)

// The informers put their records into the store through these sinks.

type jobSink struct{ *Store }

func (s jobSink) Put(j *task.Job) { s.changeTask(j.TaskID, func(i *taskItem) { i.putJob(j) }) }

func (s jobSink) Drop(j *task.Job)       { s.changeTask(j.TaskID, func(i *taskItem) { i.dropJob(j.Name) }) }
func (s jobSink) Key(j *task.Job) string { return j.Name }

func (s jobSink) All() (all []*task.Job) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, item := range s.tasks {
		all = append(all, item.jobs...)
	}
	return all
}

// changeTask applies a change of a task's objects in the cluster.
func (s *Store) changeTask(id string, set func(*taskItem)) {
	s.observe(func(m *model) []task.Key { return m.changeTask(id, set) })
}

type podSink struct{ *Store }

func (s podSink) Put(p *convert.Pod) {
	if p.Phase.Over() {
		s.requests.Drop(p.Name)
	} else {
		s.requests.Add(p.Name, p.Host, p.Requests)
	}
	s.changeTask(p.TaskID, func(i *taskItem) { i.putPod(p) })
}

func (s podSink) Drop(p *convert.Pod) {
	s.requests.Drop(p.Name)
	s.changeTask(p.TaskID, func(i *taskItem) { i.dropPod(p.Name) })
}
func (s podSink) Key(p *convert.Pod) string { return p.Name }

func (s podSink) All() (all []*convert.Pod) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, item := range s.tasks {
		for _, pod := range item.pods {
			all = append(all, &convert.Pod{Pod: pod})
		}
	}
	return all
}

type claimSink struct{ *Store }

func (s claimSink) Put(c *task.Claim)        { s.changeClaim(c, c) }
func (s claimSink) Drop(c *task.Claim)       { s.changeClaim(c, nil) }
func (s claimSink) Key(c *task.Claim) string { return c.Name }

func (s claimSink) All() []*task.Claim {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.volumes.claims))
}

// changeClaim replaces a claim of the cluster; nil means that the claim was deleted.
func (s claimSink) changeClaim(of, now *task.Claim) {
	s.observe(func(m *model) []task.Key { return m.changeClaim(of.Name, of.VolumeID, now) })
}

// A k8sEventSink receives the events about one kind of object.
type k8sEventSink struct {
	*Store
	about string
}

func (s k8sEventSink) Put(e *convert.K8sEvent) { s.change(e, func(all explain.Events) { all.Add(e) }) }

func (s k8sEventSink) Drop(e *convert.K8sEvent) {
	s.change(e, func(all explain.Events) { all.Drop(e) })
}
func (s k8sEventSink) Key(e *convert.K8sEvent) string { return e.Event }

func (s k8sEventSink) All() (all []*convert.K8sEvent) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.k8sEvents {
		if e.Kind == s.about {
			all = append(all, e)
		}
	}
	return all
}

func (s k8sEventSink) change(e *convert.K8sEvent, change func(explain.Events)) {
	s.observe(func(m *model) []task.Key {
		m.changeK8sEvents(e, change)
		return nil
	})
}
