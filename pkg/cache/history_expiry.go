package cache

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/cache/sorted"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A history holds the tasks and volumes that are over, in the order in which they ended: objects
// that exist only as a record, and tasks whose finished Jobs are retained. A task that was stopped
// or rejected enters the history only after its Jobs are deleted.
type history struct {
	tasks   []*state.CompactRecord
	volumes []*task.VolumeRecord
}

func historyOf(s *state.State) (h history) {
	for _, t := range s.Tasks {
		if t.InHistory() {
			h.tasks = append(h.tasks, t)
		}
	}
	for _, v := range s.Volumes {
		if v.CleanedUp {
			h.volumes = append(h.volumes, v)
		}
	}
	slices.SortFunc(h.tasks, tasksByEnd)
	slices.SortFunc(h.volumes, volumesByEnd)
	return h
}

// The order of the history is the order of the log, because clocks may be wrong.

func tasksByEnd(a, b *state.CompactRecord) int {
	return cmp.Or(cmp.Compare(a.EndSeq(), b.EndSeq()), cmp.Compare(a.Order, b.Order))
}

func volumesByEnd(a, b *task.VolumeRecord) int {
	return cmp.Or(cmp.Compare(a.EndSeq, b.EndSeq), cmp.Compare(a.Order, b.Order))
}

// add adds an object to the history if the object is over.
func (h *history) add(s *state.State, k task.Key) {
	switch k.Kind {
	case task.KindTask:
		if t := s.Tasks[k.ID]; t != nil && t.InHistory() {
			h.tasks = sorted.Insert(h.tasks, t, tasksByEnd)
		}
	case task.KindVolume:
		if v := s.Volumes[k.ID]; v != nil && v.CleanedUp {
			h.volumes = sorted.Insert(h.volumes, v, volumesByEnd)
		}
	}
}

// remove removes records that have expired from the log's state.
func (h *history) remove(tasks []*state.CompactRecord, volumes []*task.VolumeRecord) {
	h.volumes = sorted.Remove(h.volumes, volumes, volumesByEnd)
	h.tasks = sorted.Remove(h.tasks, tasks, tasksByEnd)
}

// maxSkew is the largest normal difference between the clocks of machines.
const maxSkew = time.Minute

// skew returns the margin that is added to a length of time, so that pods whose clocks differ
// slightly agree that the time has passed.
func skew(length time.Duration) time.Duration { return min(maxSkew, length/10) }

// Expired returns the command that expires what exceeds the history at the time now: the
// oldest first, and at most limit of each kind. The history has the given length, and its size
// is bounded by most tasks and as many volumes. The command also names objects whose time is
// far in the future, so that the fold corrects the time. retained are the tasks that exceed
// the history but have Jobs; they can expire only after their Jobs were deleted.
func (s *Store) Expired(now time.Time, length time.Duration, most, limit int) (f task.ExpireHistory, retained []task.Key) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f = task.ExpireHistory{Now: now.UTC(), Then: now.UTC().Add(-length), Tasks: most}
	then := now.Add(-length - skew(length))
	ahead := func(at time.Time) bool { return !now.IsZero() && at.After(now.Add(maxSkew)) }
	for i, t := range s.history.tasks {
		excess := len(s.history.tasks)-i > most || t.UpdatedAt().Before(then)
		if len(f.IDs) == limit || !excess && !ahead(t.UpdatedAt()) {
			break
		}
		switch {
		case t.CleanedUp():
			f.IDs = append(f.IDs, t.ID)
		case excess && len(retained) < limit: // later tasks may have no Jobs: the deletion of a Job may take long
			retained = append(retained, task.Key{Kind: task.KindTask, ID: t.ID})
		}
	}
	for i, r := range s.history.volumes {
		excess := len(s.history.volumes)-i > most || r.DeletedAt.Before(then)
		if len(f.Volumes) == limit || !excess && !ahead(r.DeletedAt) {
			break
		}
		f.Volumes = append(f.Volumes, r.Create.ID)
	}
	f.KeysThen = now.UTC().Add(-task.KeyLifetime)
	f.Keys = s.state.RetiredKeys(f.KeysThen.Add(-skew(task.KeyLifetime)), limit)
	return f, retained
}

// removeExpired removes the changed objects that are no longer in the state, all in one pass.
func (m *model) removeExpired(changed []task.Key) {
	var items []*taskItem
	var tasks []*state.CompactRecord
	var volumes []*task.VolumeRecord
	for _, k := range changed {
		if k.Kind == task.KindVolume {
			if item := m.volumes.items[k.ID]; item != nil && m.state.Volumes[k.ID] == nil {
				volumes = append(volumes, item.view.VolumeRecord)
				delete(m.volumes.items, k.ID)
			}
			continue
		}
		item, now := m.tasks[k.ID], m.state.Tasks[k.ID]
		if item != nil && item.record != nil && (now == nil || now.Order != item.record.Order) { // or another task has the id now
			items, tasks = append(items, item), append(tasks, item.record)
		}
	}
	m.history.remove(tasks, volumes)
	if len(items) > 0 {
		m.index.removeTasks(items)
	}
	for _, item := range items {
		m.dropRecord(item)
	}
}

// dropRecord removes the record of an item that is in no index.
func (m *model) dropRecord(item *taskItem) {
	if item.record == nil { // the command named the object twice
		return
	}
	m.admission.queue.remove(item)
	m.index.count(item, selection.Class{})
	m.index.bump(item.record.User())
	item.setRecord(nil)
	m.refresh(item)
	if item.empty() {
		delete(m.tasks, item.id)
	}
}
