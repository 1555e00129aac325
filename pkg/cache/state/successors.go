package state

import (
	"fmt"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// find returns the task of a user with this id or idempotency key, or nil.
func (s *State) find(user, ref string) *CompactRecord {
	if t := s.Tasks[ref]; t != nil && t.User() == user {
		return t
	}
	if use, ok := s.keys[idempotency{task.KindTask, user, ref}]; ok {
		return s.Tasks[use.id]
	}
	return nil
}

// follow makes a new task wait for its predecessors, or for its group if no predecessor is left. A
// task whose predecessor has already failed ends.
func (s *State) follow(r *task.Record) {
	var waits []task.Predecessor
	for i, ref := range slices.Concat(r.Submit.After, r.Submit.AfterAny) {
		before, anyEnd := s.find(r.Submit.User, ref), i >= len(r.Submit.After)
		if !before.Phase().Over() {
			waits = append(waits, task.Predecessor{ID: before.ID, Any: anyEnd})
		} else if !anyEnd && before.Phase() != task.Completed {
			s.failDependency(r, before)
			return
		}
	}
	if len(waits) > 0 {
		next := s.change(r, func(r *task.Record) { wait(r, waits) })
		s.link(next)
		return
	}
	s.hold(r)
}

// wait sets the predecessors of a task, and explains the wait.
func wait(r *task.Record, waits []task.Predecessor) {
	switch r.WaitsFor = waits; {
	case len(waits) > 0:
		r.Reason, r.Message = task.ReasonWaitsForTask, waitMessage(waits)
	case r.Reason == task.ReasonWaitsForTask:
		r.Reason, r.Message = "", ""
	}
}

const shownPredecessors = 3

func waitMessage(waits []task.Predecessor) string {
	ids := make([]string, 0, shownPredecessors+1)
	for _, w := range waits[:min(len(waits), shownPredecessors)] {
		ids = append(ids, w.ID)
	}
	if more := len(waits) - shownPredecessors; more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return "the task waits for the end of " + strings.Join(ids, ", ")
}

// link records a waiting task as a successor of its predecessors.
func (s *State) link(r *task.Record) {
	for _, w := range r.WaitsFor {
		addTo(s.successors, w.ID, r.Submit.ID)
	}
}

// unlink removes a task from the successors of the tasks that it waits for.
func (s *State) unlink(id string) {
	if !s.Tasks[id].Waits() {
		return
	}
	for _, w := range s.Tasks[id].Record().WaitsFor {
		removeFrom(s.successors, w.ID, id)
	}
}

// advance lets the successors of a task that is over go on, or ends the successors that need
// the task to complete. The ends of successors are handled in the loop and not by recursion,
// because a chain may be very long.
func (s *State) advance(id string) {
	s.endings = append(s.endings, id)
	if len(s.endings) > 1 {
		return // the call that runs the loop handles this end too
	}
	for i := 0; i < len(s.endings); i++ {
		s.advanceSuccessors(s.endings[i])
	}
	s.endings = nil
}

func (s *State) advanceSuccessors(id string) {
	ended := s.Tasks[id]
	all := s.successors[id]
	delete(s.successors, id)
	s.events = slices.Grow(s.events, len(all))
	for _, next := range s.inOrder(all) {
		s.yield()
		r := s.Tasks[next].Record()
		if r.Phase.Over() {
			continue // the end of an earlier successor has ended this one
		}
		s.alsoChanged = append(s.alsoChanged, taskKey(next))
		if ended.Phase() != task.Completed && slices.Contains(r.WaitsFor, task.Predecessor{ID: id}) {
			s.failDependency(r, ended)
			continue
		}
		waits := slices.DeleteFunc(slices.Clone(r.WaitsFor), func(w task.Predecessor) bool { return w.ID == id })
		if r = s.change(r, func(r *task.Record) { wait(r, waits) }); len(waits) == 0 {
			s.hold(r)
		}
	}
}

// failDependency ends a task that comes after a task that did not complete.
func (s *State) failDependency(r *task.Record, before *CompactRecord) {
	how := "failed"
	if before.Phase() == task.Stopped {
		how = "was stopped"
	}
	message := fmt.Sprintf("task %s, which had to complete first, %s", before.ID, how)
	s.finish(r, func(r *task.Record) {
		r.Phase, r.Reason, r.Message = task.Failed, task.ReasonDependency, message
	})
}
