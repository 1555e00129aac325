package taskfile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// None as a value of an override of the resources removes the value of the file.
const None = "none"

// Overrides replace values of a task file. The zero Overrides replace nothing.
type Overrides struct {
	Name     string
	NumNodes int
	Envs     map[string]string // added to the file's envs, or in place of them; may give a value to a variable that requires one
	Secrets  map[string]string // the same for the file's secrets

	Annotations map[string]string // added to the file's annotations, or in place of them

	MaxDuration, EventCallback string // None removes the value of the file

	// Resources of every alternative; empty keeps the values of the file, None removes them.
	CPUs, Memory, Accelerators, ImageID string
	UseSpot                             *bool // nil keeps the values of the file
}

// Override replaces the values of a task. Override changes neither maps nor lists that the task
// shares with other tasks.
func (o Overrides) Override(t *task.Spec) {
	t.Name = cmp.Or(o.Name, t.Name)
	t.NumNodes = cmp.Or(o.NumNodes, t.NumNodes)
	t.Envs, t.Secrets = withChanges(t.Envs, o.Envs), withChanges(t.Secrets, o.Secrets)
	t.Annotations = withChanges(t.Annotations, o.Annotations)
	override(&t.MaxDuration, o.MaxDuration)
	override(&t.EventCallback, o.EventCallback)
	o.applyResources(&t.Resources)
}

// withChanges returns values with changes applied.
func withChanges(values, changes map[string]string) map[string]string {
	if len(changes) == 0 {
		return values
	}
	all := maps.Clone(values)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, changes)
	return all
}

// applyResources replaces values of every alternative. Alternatives that become equal are
// one alternative.
func (o Overrides) applyResources(r *task.Resources) {
	if o.CPUs+o.Memory+o.Accelerators+o.ImageID == "" && o.UseSpot == nil {
		return
	}
	all := slices.Clone(r.Alternatives())
	var different []task.Resources
	for _, one := range all {
		override(&one.CPUs, o.CPUs)
		override(&one.Memory, o.Memory)
		override(&one.Accelerators, o.Accelerators)
		override(&one.ImageID, o.ImageID)
		if o.UseSpot != nil {
			one.UseSpot = *o.UseSpot
		}
		if !slices.ContainsFunc(different, func(other task.Resources) bool { return reflect.DeepEqual(one, other) }) {
			different = append(different, one)
		}
	}
	switch {
	case len(different) == 1:
		*r = different[0]
	case len(r.Ordered) > 0:
		*r = task.Resources{Ordered: different}
	default:
		*r = task.Resources{AnyOf: different}
	}
}

func override(value *string, by string) {
	if strings.EqualFold(by, None) {
		*value = ""
	} else {
		*value = cmp.Or(by, *value)
	}
}

// Declares reports whether a task file has a variable in envs, with or without a value.
func Declares(data []byte, variable string) bool {
	root, err := fromYAML(data)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(root.members, func(m member) bool {
		return m.key == "envs" && slices.ContainsFunc(m.value.members, func(v member) bool { return v.key == variable })
	})
}
