package cache

import (
	"slices"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A history holds what only the record is left of, in the order in which it
// went.
type history struct {
	tasks   []*state.Task
	volumes []*task.VolumeRecord
}

// sort puts the records in the order in which they ended, which is about the
// one in which they went.
func (h *history) sort() {
	slices.SortStableFunc(h.tasks, func(a, b *state.Task) int { return a.UpdatedAt().Compare(b.UpdatedAt()) })
	slices.SortStableFunc(h.volumes, func(a, b *task.VolumeRecord) int { return a.DeletedAt.Compare(b.DeletedAt) })
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
// of each.
func (p *Picture) Expired(then time.Time, most, limit int) (f task.Forget) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i, t := range p.history.tasks {
		tooMany := len(p.history.tasks)-i > most
		if len(f.IDs) == limit || !tooMany && !t.UpdatedAt().Before(then) {
			break
		}
		f.IDs = append(f.IDs, t.ID)
	}
	for i, r := range p.history.volumes {
		tooMany := len(p.history.volumes)-i > most
		if len(f.Volumes) == limit || !tooMany && !r.DeletedAt.Before(then) {
			break
		}
		f.Volumes = append(f.Volumes, r.Create.ID)
	}
	return f
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
