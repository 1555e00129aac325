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
	labels    []state.LabelRequirement
	notes     []annotation
	countable bool // the filter needs only the phase and the reason
}

// NewFilter returns the filter of a list.
func NewFilter(l query.List) *Filter {
	_, all := l.Scope()
	indexed := l.Group == "" || !all // the source contains only the tasks of the group
	f := &Filter{list: l, countable: indexed && l.Name == "" && l.NamePrefix == "" && l.NameContains == "" && l.From.IsZero() && len(l.Labels)+len(l.Annotations) == 0}
	for _, label := range l.Labels {
		f.labels = append(f.labels, state.RequireLabel(label))
	}
	for _, given := range l.Annotations {
		key, value, exact := strings.Cut(given, "=")
		f.notes = append(f.notes, annotation{key, value, exact})
	}
	return f
}

// An annotation is required of each task in a list.
type annotation struct {
	key, value string
	exact      bool // otherwise, the value may be any
}

// Matches reports whether a task of the list's users is in the list.
func (f *Filter) Matches(t *Task) bool {
	return f.matchesCounted(t.Phase, t.Reason) && (f.countable || f.matchesRecord(t))
}

// matchesCounted reports whether a phase and a reason are in the list.
func (f *Filter) matchesCounted(p task.Phase, reason string) bool {
	return (len(f.list.Phases) == 0 || slices.Contains(f.list.Phases, p)) &&
		(len(f.list.Reasons) == 0 || slices.Contains(f.list.Reasons, reason))
}

func (f *Filter) matchesRecord(t *Task) bool {
	if f.list.Group != "" && f.list.Group != t.Group() || !f.list.From.IsZero() && t.CreatedAt.Before(f.list.From) {
		return false
	}
	if f.list.Name != "" || f.list.NamePrefix != "" || f.list.NameContains != "" {
		name := t.Name()
		if f.list.Name != "" && name != f.list.Name || !strings.HasPrefix(name, f.list.NamePrefix) || !strings.Contains(name, f.list.NameContains) {
			return false
		}
	}
	for _, a := range f.notes {
		if value, ok := t.Annotations()[a.key]; !ok || a.exact && value != a.value {
			return false
		}
	}
	if len(f.labels) == 0 {
		return true
	}
	set := t.Labels()
	return !slices.ContainsFunc(f.labels, func(r state.LabelRequirement) bool { return !set.Has(r) })
}
