package selection

import (
	"slices"
	"strings"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// A Filter decides which tasks are in a list.
type Filter struct {
	list      query.List
	record    state.Matcher // what the records of the tasks decide
	nodes     bool          // the filter needs the nodes of the tasks
	countable bool          // the filter needs only the phase and the reason
}

// NewFilter returns the filter of a list.
func NewFilter(l query.List) *Filter {
	f := &Filter{list: l}
	record := l.Filter()
	record.Phases = nil // matchesCounted compares the phases as users see them
	if _, all := l.Scope(); !all {
		record.Group = "" // the source contains only the tasks of the group
	}
	if l.Not != nil {
		record.Not.Phases = nil
	}
	f.record = state.NewMatcher(record)
	f.nodes = needsNodes(&l.Tasks) || l.Not != nil && needsNodes(l.Not)
	f.countable = f.record.MatchesAll() && !f.nodes
	return f
}

func needsNodes(q *query.Tasks) bool { return len(q.Machines)+len(q.ExitCodes) > 0 }

// Matches reports whether a task of the list's users is in the list.
func (f *Filter) Matches(t *Task) bool {
	return f.matchesCounted(t.Phase, t.Reason) && (f.countable || f.record.Matches(t.CompactRecord) && (!f.nodes || f.matchesNodes(t.nodes())))
}

// matchesCounted reports whether a phase and a reason are in the list.
func (f *Filter) matchesCounted(p task.Phase, reason string) bool {
	q, not := &f.list.Tasks, f.list.Not
	return (len(q.Phases) == 0 || slices.Contains(q.Phases, p)) && (len(q.Reasons) == 0 || isOneOf(reason, q.Reasons)) &&
		(not == nil || !slices.Contains(not.Phases, p) && !isOneOf(reason, not.Reasons))
}

// isOneOf reports whether a reason is one of reasons, in upper or lower case.
func isOneOf(reason string, reasons []string) bool {
	return slices.ContainsFunc(reasons, func(one string) bool { return strings.EqualFold(one, reason) })
}

func (f *Filter) matchesNodes(nodes []task.Node) bool {
	q, not := &f.list.Tasks, f.list.Not
	return (len(q.Machines) == 0 || onMachine(nodes, q.Machines)) && (len(q.ExitCodes) == 0 || exited(nodes, q.ExitCodes)) &&
		(not == nil || !onMachine(nodes, not.Machines) && !exited(nodes, not.ExitCodes))
}

// onMachine reports whether one of the nodes has one of the machines.
func onMachine(nodes []task.Node, machines []string) bool {
	return slices.ContainsFunc(nodes, func(n task.Node) bool { return slices.Contains(machines, n.Host) })
}

// exited reports whether one of the nodes has one of the exit codes.
func exited(nodes []task.Node, codes []int) bool {
	return slices.ContainsFunc(nodes, func(n task.Node) bool { return n.ExitCode != nil && slices.Contains(codes, *n.ExitCode) })
}
