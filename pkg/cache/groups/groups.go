// Package groups indexes the tasks of the store by their groups. The index counts the tasks of
// each group as the tasks change, so that an answer about a group visits no task. The index has
// no lock of its own.
package groups

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/cache/sorted"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A Task is one task of the store.
type Task interface {
	comparable
	Record() *state.CompactRecord
	Started() time.Time // when the first node began to run; zero if unknown
}

// An Index holds the groups of all users.
type Index[T Task] struct {
	groups map[key]*Group[T]
	byUser map[string][]*Group[T] // oldest first
	all    []*Group[T]            // oldest first
}

// A key identifies a group: the users choose the names of their groups independently.
type key struct{ user, name string }

// A Group holds the tasks of one group.
type Group[T Task] struct {
	User, Name string
	Tasks      []T // oldest first
	Counts     selection.Counts

	order   uint64    // of the oldest task; the position of the group in lists
	started time.Time // when the first task began to run; zero if no task has
	first   T         // the failed task that ended first in the log; zero if no task failed
	last    T         // the task that ended last in the log; zero if no task is over
	pace    pace
}

// New returns an empty index.
func New[T Task]() *Index[T] {
	return &Index[T]{groups: map[key]*Group[T]{}, byUser: map[string][]*Group[T]{}}
}

func keyOf[T Task](t T) key {
	r := t.Record()
	return key{r.User(), r.Group()}
}

// Of returns a group of a user, nil if the user has no such group.
func (i *Index[T]) Of(user, name string) *Group[T] { return i.groups[key{user, name}] }

// groupsOf returns the groups of a user, or of all users, oldest first.
func (i *Index[T]) groupsOf(user string, all bool) []*Group[T] {
	if all {
		return i.all
	}
	return i.byUser[user]
}

// Add adds a task, which must be newer than all tasks of the index. Add ignores a task without
// a group.
func (i *Index[T]) Add(t T) {
	k := keyOf(t)
	if k.name == "" {
		return
	}
	g := i.groups[k]
	if g == nil {
		g = &Group[T]{User: k.user, Name: k.name, order: t.Record().Order}
		i.groups[k] = g
		i.byUser[k.user], i.all = append(i.byUser[k.user], g), append(i.all, g)
	}
	g.Tasks = append(g.Tasks, t)
}

// Move counts a task under another class, and records when the task began and ended.
func (i *Index[T]) Move(t T, from, to selection.Class) {
	k := keyOf(t)
	if k.name == "" {
		return
	}
	g := i.groups[k]
	if g == nil { // its last task was removed
		return
	}
	g.Counts.Move(from, to)
	if to != (selection.Class{}) {
		g.observe(t)
	}
}

// Remove removes tasks, and the groups that have no further task. The caller also moves the
// removed tasks to the zero Class.
func (i *Index[T]) Remove(tasks []T) {
	of := map[*Group[T]][]T{}
	for _, t := range tasks {
		if g := i.groups[keyOf(t)]; g != nil {
			of[g] = append(of[g], t)
		}
	}
	var empty []*Group[T]
	users := map[string]bool{}
	for g, some := range of {
		users[g.User] = true
		if g.remove(some); len(g.Tasks) == 0 {
			empty = append(empty, g)
			delete(i.groups, key{g.User, g.Name})
		}
	}
	i.all = withoutEmpty(i.all, empty)
	for user := range users {
		if i.byUser[user] = withoutEmpty(i.byUser[user], empty); len(i.byUser[user]) == 0 {
			delete(i.byUser, user)
		}
	}
	for g := range of {
		g.setOrder()
	}
	for user := range users {
		slices.SortFunc(i.byUser[user], compareOrder)
	}
	if len(of) > len(empty) {
		slices.SortFunc(i.all, compareOrder)
	}
}

// withoutEmpty returns all without some groups. The order of the groups must not have changed
// since all was sorted.
func withoutEmpty[T Task](all, empty []*Group[T]) []*Group[T] {
	return sorted.Remove(all, empty, compareOrder)
}

func compareOrder[T Task](a, b *Group[T]) int { return cmp.Compare(a.order, b.order) }

// setOrder sets the position of the group among all groups.
func (g *Group[T]) setOrder() {
	if len(g.Tasks) > 0 {
		g.order = g.Tasks[0].Record().Order
	}
}

// remove removes tasks from the group. If the group has lost one of its extreme tasks, remove
// visits all its tasks again.
func (g *Group[T]) remove(tasks []T) {
	g.Tasks = sorted.Remove(g.Tasks, tasks, func(a, b T) int { return cmp.Compare(a.Record().Order, b.Record().Order) })
	if !slices.ContainsFunc(tasks, g.isExtreme) {
		return
	}
	var none T
	g.started, g.first, g.last = time.Time{}, none, none
	for _, t := range g.Tasks {
		g.observe(t)
	}
}

// isExtreme reports whether a task began or ended first or last.
func (g *Group[T]) isExtreme(t T) bool {
	return t == g.first || t == g.last || !g.started.IsZero() && t.Started().Equal(g.started)
}

// observe records when a task of the group began and ended.
func (g *Group[T]) observe(t T) {
	var none T
	r, started := t.Record(), t.Started()
	if !started.IsZero() && (g.started.IsZero() || started.Before(g.started)) {
		g.started = started
	}
	if !r.Phase().Over() {
		return
	}
	if r.Phase() == task.Failed && (g.first == none || compareEnd(r, g.first.Record()) < 0) {
		g.first = t
	}
	if g.last == none || compareEnd(r, g.last.Record()) > 0 {
		g.last = t
	}
	if r.Phase() != task.Stopped {
		g.pace.add(end{r.EndSeq(), r.Order, started, r.Ended()})
	}
}

// compareEnd compares two tasks by the order in which they ended in the log, because clocks may
// be wrong.
func compareEnd(a, b *state.CompactRecord) int {
	return cmp.Or(cmp.Compare(a.EndSeq(), b.EndSeq()), cmp.Compare(a.Order, b.Order))
}
