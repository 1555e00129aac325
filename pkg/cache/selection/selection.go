// Package selection selects the tasks of one page of a list. It filters, sorts and counts
// tasks in chunks, so that no reader holds the lock of the store for long.
package selection

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// A Task is a task as lists show it.
type Task struct {
	*state.CompactRecord

	Phase  task.Phase // as users see it, which may be later than the phase in the log
	Reason string     // as users see it
	Runs   time.Time  // when the first node began to run, as far as the cluster shows; may be zero
	Nodes  NodeLister // as users see them; nil means the nodes in the log
}

// A NodeLister lists the nodes of a task, in any order. Callers must not change them.
type NodeLister interface{ NodeList() []task.Node }

// nodes returns the nodes of the task that may have a machine.
func (t *Task) nodes() []task.Node {
	if t.Nodes == nil {
		return t.CompactRecord.Nodes()
	}
	return t.Nodes.NodeList()
}

// StartTime returns when the first node of the task began to run, the zero time if no node has.
func (t *Task) StartTime() time.Time {
	if at := t.Started(); !at.IsZero() {
		return at
	}
	return t.Runs
}

// A Source holds the tasks of one user, or of all users.
type Source interface {
	// Scan calls visit for at most n tasks in the order of submission, or in the reverse order,
	// until visit returns false. Scan begins after the task with the number from, or at the
	// first task if from is 0, and returns the number of the last task. more is false at the end.
	// visit must not keep the Task.
	Scan(from uint64, reverse bool, n int, visit func(*Task) bool) (last uint64, more bool)
	// Count returns the number of tasks whose phase and reason match.
	Count(match func(task.Phase, string) bool) int
}

// chunk is how many tasks are visited under one lock. Some tasks may change between two chunks;
// a task that is in the source during the whole selection is visited exactly once.
const chunk = 1024

// An Item is one selected task.
type Item struct {
	ID string
	query.Position
}

// Select returns the items of a page in its order, and the page.
func Select(s Source, l query.List) ([]Item, query.Page) {
	c, f := newCollector(l), NewFilter(l)
	if f.countable && c.field == query.ByCreated {
		total := s.Count(f.matchesCounted)
		selectCounted(s, l, f, c, total)
		return c.page(l, total)
	}
	total, from, more := 0, uint64(0), true
	for more {
		from, more = s.Scan(from, c.descending, chunk, func(t *Task) bool {
			if f.Matches(t) {
				total++
				c.add(t)
			}
			return true
		})
	}
	return c.page(l, total)
}

// selectCounted is Select for a page whose total is known, in the order of submission: it visits
// only the tasks up to the end of the page.
func selectCounted(s Source, l query.List, f *Filter, c *collector, total int) {
	from, more, found := uint64(0), total > 0, 0
	if l.After != nil {
		from = l.After.Order
	}
	for more {
		from, more = s.Scan(from, c.descending, chunk, func(t *Task) bool {
			if f.Matches(t) {
				found++
				c.add(t)
			}
			return !c.full() && (found < total || l.Limit == 0)
		})
	}
}

// A collector holds the first items of a page and the skipped items before the page, at most one
// more than its limit.
type collector struct {
	field      string
	descending bool
	after      *query.Position
	skip       int // items before the page
	limit      int // of the items, the skipped ones included; 0 means no limit
	items      []Item
	sorted     int // number of items at the beginning that are sorted and are the first ones
}

func newCollector(l query.List) *collector {
	c := &collector{after: l.After, skip: l.Offset, limit: l.Limit}
	if c.limit > 0 {
		c.limit += c.skip
	}
	c.field, c.descending = l.SortField()
	return c
}

// full reports whether no later task can be on the page, if the tasks come in their order.
func (c *collector) full() bool { return c.limit > 0 && len(c.items) > c.limit }

func (c *collector) add(t *Task) {
	if c.field == query.ByCreated && c.full() {
		return
	}
	p := query.Position{Key: c.key(t), Order: t.Order}
	if c.after != nil && c.compare(p, *c.after) <= 0 {
		return
	}
	if c.limit > 0 && c.sorted > c.limit && c.compare(p, c.items[c.limit].Position) > 0 {
		return
	}
	c.items = append(c.items, Item{t.ID, p})
	const batch = 256 // items that are sorted at once
	if c.limit > 0 && c.field != query.ByCreated && len(c.items) >= c.limit+1+max(c.limit, batch) {
		c.sort()
	}
}

// sort sorts the items and drops those that are not on the page.
func (c *collector) sort() {
	slices.SortFunc(c.items, func(a, b Item) int { return c.compare(a.Position, b.Position) })
	if c.limit > 0 && len(c.items) > c.limit+1 {
		c.items = c.items[:c.limit+1]
	}
	c.sorted = len(c.items)
}

// page returns the items, and the page with its cursor.
func (c *collector) page(l query.List, total int) ([]Item, query.Page) {
	p := query.Page{Total: total}
	if c.sort(); c.full() {
		c.items = c.items[:c.limit]
		p.Next = l.NextCursor(c.items[c.limit-1].Position)
	}
	return c.items[min(c.skip, len(c.items)):], p
}

// key returns the value of the field by which the list is sorted.
func (c *collector) key(t *Task) query.Key {
	switch c.field {
	case query.ByName:
		return query.Key{Text: t.Name()}
	case query.ByStatus:
		return query.Key{Number: int64(slices.Index(query.Phases, t.Phase))}
	case query.ByStarted:
		return timeKey(t.StartTime())
	case query.ByEnded:
		return timeKey(t.Ended())
	}
	return query.Key{}
}

func timeKey(at time.Time) query.Key {
	if at.IsZero() {
		return query.Key{Missing: true}
	}
	return query.Key{Number: at.UnixNano()}
}

// compare compares two positions. Tasks without a value come last in both directions. Tasks with
// the same value are newest first.
func (c *collector) compare(a, b query.Position) int {
	if c.field == query.ByCreated && !c.descending {
		return cmp.Compare(a.Order, b.Order)
	}
	if a.Key.Missing != b.Key.Missing {
		if a.Key.Missing {
			return 1
		}
		return -1
	}
	order := cmp.Or(cmp.Compare(a.Key.Number, b.Key.Number), strings.Compare(a.Key.Text, b.Key.Text))
	if c.descending {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(b.Order, a.Order))
}
