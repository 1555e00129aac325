// Package labels encodes the labels of a task as one string, so that equal sets of labels share
// memory.
package labels

import (
	"maps"
	"slices"
	"strings"
)

// A Set holds labels, each as "\nKEY=VALUE" in the order of the keys, and ends with a newline. No
// key or value contains a newline. The empty Set has no labels.
type Set string

// Of returns the labels in any of maps; a later map overrides an earlier one.
func Of(sets ...map[string]string) Set {
	all := map[string]string{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("\n" + key + "=" + all[key])
	}
	return Set(b.String() + "\n")
}

// Map returns the labels as a map, nil if there are none.
func (s Set) Map() map[string]string {
	if s == "" {
		return nil
	}
	all := map[string]string{}
	for line := range strings.SplitSeq(strings.Trim(string(s), "\n"), "\n") {
		key, value, _ := strings.Cut(line, "=")
		all[key] = value
	}
	return all
}

// A Requirement is a label that a Set must have.
type Requirement string

// Require returns the requirement for KEY=VALUE, or for KEY with any value.
func Require(label string) Requirement {
	if strings.Contains(label, "=") {
		return Requirement("\n" + label + "\n")
	}
	return Requirement("\n" + label + "=")
}

// Has reports whether the set meets a requirement.
func (s Set) Has(r Requirement) bool { return strings.Contains(string(s), string(r)) }
