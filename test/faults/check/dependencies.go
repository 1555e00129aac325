package check

import (
	"slices"

	"k8s-cli/test/faults/history"
)

// dependencyFailed is the reason of a task that ended because a predecessor did not complete.
const dependencyFailed = "DependencyFailed"

// predecessors returns the ids of the tasks that a task comes after.
func (x *index) predecessors(id string) (all []string) {
	o := x.accepted[id]
	if o == nil {
		return nil
	}
	for _, name := range o.After {
		if before, ok := x.named[o.User+"\x00"+name]; ok {
			all = append(all, before)
		}
	}
	return all
}

// lacksPredecessor reports whether a task failed because a task that it comes after did not
// complete.
func (x *index) lacksPredecessor(id string) bool {
	return x.final[id].Reason == dependencyFailed && slices.ContainsFunc(x.predecessors(id), func(p string) bool {
		return x.final[p].Phase != "completed"
	})
}

// dependencies: a task gets a Job only after the Jobs of all its predecessors are complete, and
// a task whose predecessor did not complete does not complete either.
func dependencies(x *index) {
	if !slices.ContainsFunc(x.Ops, func(o history.Op) bool { return len(o.After) > 0 }) {
		return
	}
	byID := map[string]*life{} // tasks with predecessors have one node
	for _, l := range x.lives() {
		if byID[l.ID] == nil {
			byID[l.ID] = l
		}
	}
	for _, id := range sorted(x.accepted) {
		for _, before := range x.predecessors(id) {
			l, b := byID[id], byID[before]
			if l != nil && (b == nil || b.ended != "Complete" || b.endVersion > l.Version) {
				x.report(Unordered, id, "its Job was created at version %d, before task %s completed", l.Version, before)
			}
			if x.final[id].Phase == "completed" && x.final[before].Phase != "completed" {
				x.report(Unordered, id, "it is completed, and task %s is %s", before, x.final[before].Phase)
			}
		}
	}
}
