package cache

import (
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// A history holds the tasks of which only the record is left, in the order in
// which they went.
type history struct{ records []*task.Record }

func (h *history) add(r *task.Record) { h.records = append(h.records, r) }

// sort puts the records in the order in which they ended, which is about the
// one in which they went.
func (h *history) sort() {
	slices.SortStableFunc(h.records, func(a, b *task.Record) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
}

func (h *history) drop(id string) {
	i := slices.IndexFunc(h.records, func(r *task.Record) bool { return r.Submit.ID == id })
	if i >= 0 {
		h.records = without(h.records, i)
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

// Expired returns the ids of at most limit tasks that a history of so many
// tasks, none of which ended before then, has no room for: the oldest first.
func (p *Picture) Expired(then time.Time, tasks, limit int) (ids []string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i, r := range p.history.records {
		tooMany := len(p.history.records)-i > tasks
		if len(ids) == limit || !tooMany && !r.UpdatedAt.Before(then) {
			break
		}
		ids = append(ids, r.Submit.ID)
	}
	return ids
}

// forgotten removes a task that the log has forgotten.
func (p *Picture) forgotten(id string) {
	item := p.tasks[id]
	if item == nil || item.view.Record == nil {
		return
	}
	p.history.drop(id)
	user, order := item.view.Submit.User, item.view.Order
	for _, s := range []*shelf{p.byUser[user], &p.all} {
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
