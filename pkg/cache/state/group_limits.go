package state

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"k8s-cli/pkg/task"
)

// A groupKey identifies a group: the users choose the names of their groups independently.
type groupKey struct{ user, name string }

// groupOf returns the group of a task; the name is empty if the task has none.
func groupOf(r *task.Record) groupKey { return groupKey{r.Submit.User, r.Submit.Group} }

// A groupState counts the tasks of a group for the max_parallel of its tasks. The groupState
// follows from the records.
type groupState struct {
	active int       // tasks that may have Jobs and are not over, and stopped tasks that still have Jobs
	held   int       // tasks that wait because of their max_parallel
	queue  heldQueue // the held tasks, and tasks that were held before
}

// countInGroup counts a task in its group; times is 1 to add and -1 to subtract. A group with fewer
// active tasks, or without a task that was held before others, may release held tasks after the
// command.
func (s *State) countInGroup(t *CompactRecord, times int) {
	if t == nil || t.Group() == "" {
		return
	}
	k := groupKey{t.User(), t.Group()}
	held, active := t.Held(), t.takesPlaceInGroup()
	if !held && !active {
		return
	}
	g := s.groups[k]
	if g == nil {
		g = &groupState{}
		s.groups[k] = g
	}
	switch {
	case held:
		g.held += times
	case active:
		g.active += times
	}
	switch {
	case g.held == 0 && g.active == 0:
		delete(s.groups, k)
	case times < 0 && g.held > 0 && (len(s.vacated) == 0 || s.vacated[len(s.vacated)-1] != k):
		s.vacated = append(s.vacated, k)
	}
}

// takesPlaceInGroup reports whether a task counts towards the max_parallel of its group.
func (c *CompactRecord) takesPlaceInGroup() bool {
	switch {
	case c.Waits() || c.cleanedUp:
		return false
	case c.Phase().Over():
		return c.admitted && (c.Phase() == task.Stopped || !c.Applied()) // Jobs of the task may still run
	}
	return true
}

// hold makes a task that may have Jobs wait if its group has reached the max_parallel of the task.
func (s *State) hold(r *task.Record) {
	limit, k := r.Submit.MaxParallel, groupOf(r)
	if limit == 0 || k.name == "" || s.groups[k].active <= limit { // active counts the task
		return
	}
	s.change(r, func(r *task.Record) {
		r.Held = true
		r.Reason, r.Message = task.ReasonGroupLimit, fmt.Sprintf("the task waits until fewer than %d tasks of group %s are active", limit, k.name)
		if limit == 1 {
			r.Message = fmt.Sprintf("the task waits until no task of group %s is active", k.name)
		}
	})
	s.groups[k].push(r)
}

func (g *groupState) push(r *task.Record) {
	turn := task.Turn{Priority: r.Submit.Resources().Priority, Order: r.Order}
	heap.Push(&g.queue, heldTask{turn, r.Submit.ID})
}

// releaseHeld lets held tasks go on in the groups that have lost an active task.
func (s *State) releaseHeld() {
	for _, k := range s.vacated {
		for g := s.groups[k]; g != nil && g.held > 0; {
			s.yield()
			next := s.Tasks[g.queue[0].id]
			if next == nil || !next.Held() {
				heap.Pop(&g.queue)
				continue
			}
			r := next.Record()
			if g.active >= r.Submit.MaxParallel {
				break
			}
			heap.Pop(&g.queue)
			s.change(r, func(r *task.Record) { r.Held, r.Reason, r.Message = false, "", "" })
			s.alsoChanged = append(s.alsoChanged, taskKey(r.Submit.ID))
		}
	}
	s.vacated = nil
}

// failGroups stops the other tasks of the groups in which a task with fail_fast has failed.
func (s *State) failGroups() {
	for i := 0; i < len(s.failedFast); i++ { // a stop may end tasks of other groups
		failed := s.Tasks[s.failedFast[i]]
		message := fmt.Sprintf("task %s of group %s failed", failed.ID, failed.Group())
		ids := s.activeOf(failed.User(), failed.Group())
		s.endTasks(ids, func(r *task.Record) { r.Phase, r.Reason, r.Message = task.Stopped, task.ReasonGroupFailed, message })
	}
	s.failedFast = nil
}

// activeOf returns the ids of the tasks of a user that are not over, in the order of submission. An
// empty group means all tasks.
func (s *State) activeOf(user, group string) []string {
	if group == "" {
		return s.inOrder(s.active[user])
	}
	return s.inOrder(s.activeInGroup[groupKey{user, group}])
}

// inOrder returns the ids of tasks in the order of submission.
func (s *State) inOrder(tasks map[string]bool) []string {
	records := make([]*CompactRecord, 0, len(tasks))
	for id := range tasks {
		records = append(records, s.Tasks[id])
	}
	slices.SortFunc(records, func(a, b *CompactRecord) int { return cmp.Compare(a.Order, b.Order) })
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	return ids
}

// A heldQueue is a heap of the held tasks of a group, the next one first. Tasks that are no longer
// held may be in the heap.
type heldQueue []heldTask

type heldTask struct {
	turn task.Turn
	id   string
}

func (q heldQueue) Len() int           { return len(q) }
func (q heldQueue) Less(i, j int) bool { return q[i].turn.Compare(q[j].turn) < 0 }
func (q heldQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *heldQueue) Push(x any)        { *q = append(*q, x.(heldTask)) }

// Pop removes the last task, as package heap requires.
func (q *heldQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
