package state

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// A Matcher decides which tasks a task.Filter selects, by their records alone.
type Matcher struct {
	from, until time.Time   // as in task.Filter
	all         []condition // a task must meet all of these
	none        []condition // a task must meet none of these
}

// A condition reports whether a task meets one condition of a Filter.
type condition func(*CompactRecord) bool

// NewMatcher returns the Matcher of a filter.
func NewMatcher(f task.Filter) Matcher {
	m := Matcher{from: f.From, until: f.Until}
	if !f.Conditions.IsZero() {
		m.all = conditionsOf(f.Conditions)
	}
	if f.Not != nil {
		m.none = conditionsOf(*f.Not)
	}
	return m
}

// Matches reports whether the filter selects a task.
func (m *Matcher) Matches(r *CompactRecord) bool {
	return !r.CreatedAt.Before(m.from) && (m.until.IsZero() || r.CreatedAt.Before(m.until)) &&
		!slices.ContainsFunc(m.all, func(c condition) bool { return !c(r) }) &&
		!slices.ContainsFunc(m.none, func(c condition) bool { return c(r) })
}

// MatchesAll reports whether the filter selects all tasks.
func (m *Matcher) MatchesAll() bool {
	return len(m.all)+len(m.none) == 0 && m.from.IsZero() && m.until.IsZero()
}

func conditionsOf(c task.Conditions) (all []condition) {
	add := func(given bool, one condition) {
		if given {
			all = append(all, one)
		}
	}
	add(len(c.Phases) > 0, func(r *CompactRecord) bool { return slices.Contains(c.Phases, r.Phase()) })
	add(c.Group != "", func(r *CompactRecord) bool { return r.Group() == c.Group })
	add(c.Name != "", func(r *CompactRecord) bool { return r.Name() == c.Name })
	add(c.NamePrefix != "", func(r *CompactRecord) bool { return strings.HasPrefix(r.Name(), c.NamePrefix) })
	for _, part := range c.NameContains {
		lower := strings.ToLower(part)
		add(true, func(r *CompactRecord) bool { return strings.Contains(strings.ToLower(r.Name()), lower) })
	}
	for _, label := range c.Labels {
		required := RequireLabel(label)
		add(true, func(r *CompactRecord) bool { return r.Labels().Has(required) })
	}
	for _, annotation := range c.Annotations {
		key, value, exact := strings.Cut(annotation, "=")
		add(true, func(r *CompactRecord) bool {
			is, ok := r.Annotations()[key]
			return ok && (!exact || is == value)
		})
	}
	for _, variable := range c.Points {
		add(true, func(r *CompactRecord) bool {
			point := r.Annotations()[task.AnnotationPoint]
			return point != "" && strings.Contains(" "+point+" ", " "+variable+" ")
		})
	}
	add(len(c.GPUs) > 0, func(r *CompactRecord) bool { return slices.ContainsFunc(c.GPUs, r.requests) })
	return all
}

// requests reports whether each node of the task requests GPUs as given: COUNT, NAME or NAME:COUNT.
func (c *CompactRecord) requests(given string) bool {
	model, count, err := task.Resources{Accelerators: c.Accelerators()}.GPUs()
	if n, wrong := strconv.Atoi(given); wrong == nil {
		return err == nil && count == n
	}
	name, number, both := strings.Cut(given, ":")
	return err == nil && strings.EqualFold(model, name) && (!both || number == strconv.Itoa(count))
}
