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
	not       query.Tasks    // the zero Tasks excludes nothing
	record    *state.Matcher // what the records of the tasks decide
	nodes     bool           // the filter needs the nodes of the tasks
	countable bool           // the filter needs only the phase and the reason
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
		f.not, record.Not.Phases = *l.Not, nil
	}
	f.record = state.NewMatcher(record)
	f.nodes = len(l.Machines)+len(l.ExitCodes)+len(f.not.Machines)+len(f.not.ExitCodes) > 0
	f.countable = f.record.MatchesAll() && !f.nodes
	return f
}

// Matches reports whether a task of the list's users is in the list.
func (f *Filter) Matches(t *Task) bool {
	return f.matchesCounted(t.Phase, t.Reason) && (f.countable || f.record.Matches(t.CompactRecord) && (!f.nodes || f.matchesNodes(t.nodes())))
}

// matchesCounted reports whether a phase and a reason are in the list.
func (f *Filter) matchesCounted(p task.Phase, reason string) bool {
	is := func(one string) bool { return strings.EqualFold(one, reason) }
	return (len(f.list.Phases) == 0 || slices.Contains(f.list.Phases, p)) &&
		(len(f.list.Reasons) == 0 || slices.ContainsFunc(f.list.Reasons, is)) &&
		(len(f.not.Phases) == 0 || !slices.Contains(f.not.Phases, p)) &&
		(len(f.not.Reasons) == 0 || !slices.ContainsFunc(f.not.Reasons, is))
}

func (f *Filter) matchesNodes(nodes []task.Node) bool {
	return (len(f.list.Machines) == 0 || onMachine(nodes, f.list.Machines)) && (len(f.list.ExitCodes) == 0 || exited(nodes, f.list.ExitCodes)) &&
		!onMachine(nodes, f.not.Machines) && !exited(nodes, f.not.ExitCodes)
}

// onMachine reports whether one of the nodes has one of the machines.
func onMachine(nodes []task.Node, machines []string) bool {
	return slices.ContainsFunc(nodes, func(n task.Node) bool { return slices.Contains(machines, n.Host) })
}

// exited reports whether one of the nodes has one of the exit codes.
func exited(nodes []task.Node, codes []int) bool {
	return slices.ContainsFunc(nodes, func(n task.Node) bool { return n.ExitCode != nil && slices.Contains(codes, *n.ExitCode) })
}
