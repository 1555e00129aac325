package cache

import (
	"cmp"
	"maps"
	"slices"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// versionStep is larger than the number of changes in any store. The versions of a rebuilt
// model begin this far after the versions of the old model.
const versionStep = 1 << 40

// rebuild replaces the state of the log with next and retains the objects of the cluster.
// rebuild builds a new model while the store answers from the old one, and then replaces the
// old model in one step. No entry may be folded during the call.
func (s *Store) rebuild(next *state.State) {
	m := s.clusterOnly(next)
	m.applyAll()
	s.swap(m)
}

// swap replaces the model with a rebuilt one, and tells the listeners about all objects.
func (s *Store) swap(m *model) {
	before := s.replace(m)
	for _, item := range before.tasks { // no other goroutine reads the old model now
		if item.extra != nil && item.extra.changed != nil {
			close(item.extra.changed)
		}
	}
	s.nodes.Invalidate()
	s.notify(s.Keys())
}

// clusterOnly returns a model of a state with the objects of the cluster, before the state is
// applied. From then until replace, changes of the cluster are recorded in pendingChanges.
func (s *Store) clusterOnly(next *state.State) *model {
	s.mu.Lock()
	s.rebuilding, s.pendingChanges = true, nil
	s.mu.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	m := newModel(s.settings, next)
	m.admission.limits, m.volumes.policy = s.admission.limits, s.volumes.policy
	m.volumes.claims, m.k8sEvents, m.index.version = maps.Clone(s.volumes.claims), maps.Clone(s.k8sEvents), s.index.version+versionStep
	for id, item := range s.tasks {
		if len(item.jobs)+len(item.pods) > 0 {
			m.tasks[id] = item.clusterOnly()
		}
	}
	return m
}

// clusterOnly returns a copy of the item with only the objects of the cluster.
func (i *taskItem) clusterOnly() *taskItem {
	copied := &taskItem{id: i.id, jobs: slices.Clone(i.jobs), pods: slices.Clone(i.pods)}
	if f := i.extra; f != nil {
		copied.extra = &taskExtra{requirements: maps.Clone(f.requirements), gone: maps.Clone(f.gone), reason: f.reason}
	}
	return copied
}

// applyAll applies all objects of the state to a new model.
func (m *model) applyAll() {
	for _, c := range m.volumes.claims {
		m.volumes.updateOrphan(c.Name, c.VolumeID, c)
	}
	volumesByOrder := func(a, b *task.VolumeRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, v := range slices.SortedFunc(maps.Values(m.state.Volumes), volumesByOrder) {
		m.applyVolume(v.Create.ID)
	}
	tasksByOrder := func(a, b *state.CompactRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, t := range slices.SortedFunc(maps.Values(m.state.Tasks), tasksByOrder) {
		m.applyTask(t.ID)
	}
	for _, item := range m.tasks {
		if item.record == nil {
			m.refresh(item)
		}
	}
	m.history = historyOf(m.state)
}

// replace puts a model into the store, applies the changes of the cluster that were recorded
// since clusterOnly, and returns the old model.
func (s *Store) replace(next *model) (before *model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range s.pendingChanges {
		change(next)
	}
	before = s.guarded.model
	next.progress, next.yield = s.events, s.guarded.yield
	s.guarded.model, s.rebuilding, s.pendingChanges = next, false, nil
	s.events.Reset(s.state.Seq, s.state.LastEvent())
	s.admission.queue.bumpRevision()
	return before
}
