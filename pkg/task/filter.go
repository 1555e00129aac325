package task

import "time"

// A Filter selects tasks by what the log contains about them. A StopAll may have a Filter, with
// which the fold decides: the JSON keys and the meaning of the fields do not change. The zero
// Filter selects all tasks.
type Filter struct {
	Conditions

	Not    *Conditions `json:"not,omitempty"`    // a task must meet none of these
	Since  string      `json:"since,omitempty"`  // From as the user gave it
	Before string      `json:"before,omitempty"` // Until as the user gave it
	From   time.Time   `json:"from,omitzero"`    // only tasks that were created at this time or later
	Until  time.Time   `json:"until,omitzero"`   // only tasks that were created before this time
}

// Conditions are requirements on a task. A task meets the Conditions of a Filter if it meets each
// field that is set.
type Conditions struct {
	Phases       []Phase  `json:"status,omitempty"`        // one of these
	Name         string   `json:"name,omitempty"`          // the whole name
	NamePrefix   string   `json:"name_prefix,omitempty"`   // the beginning of the name
	NameContains []string `json:"name_contains,omitempty"` // all of these are parts of the name, in upper or lower case
	Labels       []string `json:"label,omitempty"`         // all of these: KEY=VALUE, or KEY for any value
	Annotations  []string `json:"annotation,omitempty"`    // all of these: KEY=VALUE, or KEY for any value
	Points       []string `json:"point,omitempty"`         // all of these variables of a sweep: NAME=VALUE
	Group        string   `json:"group,omitempty"`         // name of the group
	GPUs         []string `json:"gpus,omitempty"`          // one of these, requested by each node: COUNT, NAME or NAME:COUNT
}

// IsZero reports whether the Filter selects all tasks.
func (f *Filter) IsZero() bool {
	return f.Conditions.IsZero() && f.Not == nil && f.Since == "" && f.Before == "" && f.From.IsZero() && f.Until.IsZero()
}

// IsZero reports whether no field is set.
func (c *Conditions) IsZero() bool {
	return c.Name == "" && c.NamePrefix == "" && c.Group == "" &&
		len(c.Phases)+len(c.NameContains)+len(c.Labels)+len(c.Annotations)+len(c.Points)+len(c.GPUs) == 0
}
