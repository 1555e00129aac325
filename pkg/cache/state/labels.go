package state

import (
	"maps"
	"slices"
	"strings"
)

// A LabelSet holds the labels of a task as one string, so that equal sets share memory: for each label
// "\nKEY=VALUE", in the order of the keys, and a newline at the end. No key or value contains a newline.
// The empty LabelSet has no labels.
type LabelSet string

// labelsOf returns the labels in any of maps; a later map overrides an earlier one.
func labelsOf(sets ...map[string]string) LabelSet {
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
	return LabelSet(b.String() + "\n")
}

// Map returns the labels as a map or nil.
func (s LabelSet) Map() map[string]string {
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

// A LabelRequirement is a label that a LabelSet must have.
type LabelRequirement string

// RequireLabel returns the requirement for KEY=VALUE, or for KEY with any value.
func RequireLabel(label string) LabelRequirement {
	if strings.Contains(label, "=") {
		return LabelRequirement("\n" + label + "\n")
	}
	return LabelRequirement("\n" + label + "=")
}

// Has reports whether the set meets a requirement.
func (s LabelSet) Has(r LabelRequirement) bool { return strings.Contains(string(s), string(r)) }
