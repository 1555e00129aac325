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
	tasks   []*state.Task
	volumes []*task.VolumeRecord
}

func historyOf(s *state.State) (h history) {
	for _, t := range s.Tasks {
		if isPast(t) {
			h.tasks = append(h.tasks, t)
		}
	}
	for _, v := range s.Volumes {
		if v.Gone {
			h.volumes = append(h.volumes, v)
		}
	}
	slices.SortFunc(h.tasks, tasksByEnd)
	slices.SortFunc(h.volumes, volumesByEnd)
	return h
}

func isPast(t *state.Task) bool {
	return t.Gone() || t.Phase().Over() && t.Phase() != task.Stopped && t.Applied()
}

func tasksByEnd(a, b *state.Task) int {
	return cmp.Or(a.UpdatedAt().Compare(b.UpdatedAt()), cmp.Compare(a.Order, b.Order))
}

func volumesByEnd(a, b *task.VolumeRecord) int {
	return cmp.Or(a.DeletedAt.Compare(b.DeletedAt), cmp.Compare(a.Order, b.Order))
}

// keep takes in an object that is over.
func (p *Picture) keep(k task.Key) {
	switch h := &p.history; k.Kind {
	case task.KindTask:
		if t := p.state.Tasks[k.ID]; t != nil && isPast(t) {
			h.tasks = inserted(h.tasks, t, tasksByEnd)
		}
	case task.KindVolume:
		if v := p.state.Volumes[k.ID]; v != nil && v.Gone {
			h.volumes = inserted(h.volumes, v, volumesByEnd)
		}
	}
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

func (h *history) dropTask(id string) {
	i := slices.IndexFunc(h.tasks, func(t *state.Task) bool { return t.ID == id })
	if i >= 0 {
		h.tasks = without(h.tasks, i)
	}
}

func (h *history) dropVolume(id string) {
	i := slices.IndexFunc(h.volumes, func(r *task.VolumeRecord) bool { return r.Create.ID == id })
	if i >= 0 {
		h.volumes = without(h.volumes, i)
	}
}

// without returns all without the one at i. The oldest, which is the usual one,
// goes without moving the others.
func without[T any](all []*T, i int) []*T {
	if i == 0 {
		all[0] = nil
		return all[1:]
	}
	return slices.Delete(all, i, i+1)
}

// Expired returns what a history of so many tasks and as many volumes, none of
// which ended before then, has no room for: the oldest first, and at most limit
// of each. Tasks whose Jobs are kept can be forgotten only after those are gone.
func (p *Picture) Expired(then time.Time, most, limit int) (f task.Forget, kept []task.Key) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i, t := range p.history.tasks {
		tooMany := len(p.history.tasks)-i > most
		if len(f.IDs) == limit || !tooMany && !t.UpdatedAt().Before(then) {
			break
		}
		switch {
		case t.Gone():
			f.IDs = append(f.IDs, t.ID)
		case len(kept) < limit: // more may follow that are gone: a Job may take its time to go
			kept = append(kept, task.Key{Kind: task.KindTask, ID: t.ID})
		}
	}
	for i, r := range p.history.volumes {
		tooMany := len(p.history.volumes)-i > most
		if len(f.Volumes) == limit || !tooMany && !r.DeletedAt.Before(then) {
			break
		}
		f.Volumes = append(f.Volumes, r.Create.ID)
	}
	return f, kept
}

// forgotten removes a task that the log has forgotten.
func (p *Picture) forgotten(id string) {
	item := p.tasks[id]
	if item == nil || item.kept == nil {
		return
	}
	p.backlog.leave(item)
	p.history.dropTask(id)
	user, order := item.kept.User(), item.kept.Order
	p.noteChange(user)
	for _, s := range []*shelf{p.byUser[user], p.all} {
		if i, found := position(s.tasks, order); found {
			s.tasks = without(s.tasks, i)
		}
	}
	if s := p.byUser[user]; len(s.tasks) == 0 && len(s.volumes) == 0 {
		delete(p.byUser, user)
	}
	item.setRecord(nil)
	p.refresh(item)
	if item.empty() {
		delete(p.tasks, id)
	}
}
