package cache

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A history holds what is over, in the order in which it ended: what only the
// record is left of, and tasks whose finished Jobs are kept for a while. Others
// still have something in the cluster that goes at once.
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

// The order of the history is that of the log: clocks may be wrong.

func tasksByEnd(a, b *state.CompactRecord) int {
	return cmp.Or(cmp.Compare(a.EndSeq(), b.EndSeq()), cmp.Compare(a.Order, b.Order))
}

func volumesByEnd(a, b *task.VolumeRecord) int {
	return cmp.Or(cmp.Compare(a.EndSeq, b.EndSeq), cmp.Compare(a.Order, b.Order))
}

// add takes in an object that is over.
func (h *history) add(s *state.State, k task.Key) {
	switch k.Kind {
	case task.KindTask:
		if t := s.Tasks[k.ID]; t != nil && t.InHistory() {
			h.tasks = inserted(h.tasks, t, tasksByEnd)
		}
	case task.KindVolume:
		if v := s.Volumes[k.ID]; v != nil && v.CleanedUp {
			h.volumes = inserted(h.volumes, v, volumesByEnd)
		}
	}
}

// remove removes what the log has forgotten.
func (h *history) remove(tasks []*state.CompactRecord, volumes []*task.VolumeRecord) {
	h.volumes = without(h.volumes, positions(h.volumes, volumes, volumesByEnd))
	h.tasks = without(h.tasks, positions(h.tasks, tasks, tasksByEnd))
}

// inserted returns all with one at its place, or in the place of what it was
// before.
func inserted[T any](all []*T, one *T, compare func(a, b *T) int) []*T {
	i, found := slices.BinarySearchFunc(all, one, compare)
	if found {
		all[i] = one
		return all
	}
	return slices.Insert(all, i, one)
}

// maxSkew is how far the clocks of machines may differ without being wrong.
const maxSkew = time.Minute

// skew returns by how much more than a length of time something must be old, so
// that clocks which differ a little agree on it.
func skew(length time.Duration) time.Duration { return min(maxSkew, length/10) }

// Expired returns the command that forgets what a history of such a length and of
// so many tasks, and as many volumes, has no room for at the time now: the oldest
// first, and at most limit of each. It names what has a time far in the future,
// too, so that the fold corrects that. Tasks whose Jobs are kept can be forgotten
// only after those are gone.
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
		case excess && len(retained) < limit: // more may follow that are gone: a Job may take its time to go
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
	f.KeysThen = now.UTC().Add(-task.KeyLife)
	f.Keys = s.state.RetiredKeys(f.KeysThen.Add(-skew(task.KeyLife)), limit)
	return f, retained
}

// removeExpired removes what the log has forgotten of what has changed, all at once.
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
		if item != nil && item.record != nil && (now == nil || now.Order != item.record.Order) { // or another task has the id since
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

// dropRecord takes the record from an item that is in no index any more.
func (m *model) dropRecord(item *taskItem) {
	if item.record == nil { // it was named twice
		return
	}
	m.admission.queue.remove(item)
	m.index.bump(item.record.User())
	item.setRecord(nil)
	m.refresh(item)
	if item.empty() {
		delete(m.tasks, item.id)
	}
}
