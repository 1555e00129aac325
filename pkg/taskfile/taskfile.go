// Package taskfile reads what users write: SkyPilot's task files in YAML and
// the JSON bodies of the HTTP interface. Both become one tree, one table of
// fields goes over it, and every field is honoured, accepted with a warning, or
// refused with the reason. Nothing is dropped silently.
package taskfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"unicode/utf8"

	"k8s-cli/pkg/task"
)

// MaxSize is the most bytes that a task or a volume may be written in.
const MaxSize = 128 << 10

// Parse reads a task file in YAML. The warnings are sentences about fields that
// are accepted and not honoured; like errors they start with the field's path.
// An error is of kind ErrUnreadable, ErrInvalid or ErrTooLarge and names the
// line where there is one.
func Parse(data []byte) (task.Task, []string, error) {
	return parseTask(data, fromYAML, Overrides{})
}

// Overrides replace what a file says. The zero Overrides replace nothing.
type Overrides struct {
	Name     string
	NumNodes int
	Envs     map[string]string // added to the file's, or in place of them; they also give a value to one that requires it
}

// ParseWith is Parse with some values replaced before the task is checked.
func ParseWith(data []byte, o Overrides) (task.Task, []string, error) {
	return parseTask(data, fromYAML, o)
}

// ParseJSON reads the JSON body of a submission. It is Parse for the other
// language: same fields, same rules, no lines.
func ParseJSON(data []byte) (task.Task, []string, error) {
	return parseTask(data, fromJSON, Overrides{})
}

// ParseVolume reads the JSON body of a volume's creation.
func ParseVolume(data []byte) (task.Volume, error) {
	var v task.Volume
	w := walk{what: "a volume", tables: []table{{"", volumeFields(&v)}}}
	if err := w.read(data, fromJSON); err != nil {
		return task.Volume{}, err
	}
	if err := v.Validate(); err != nil {
		return task.Volume{}, w.located(err)
	}
	return v, nil
}

func parseTask(data []byte, decode decoder, o Overrides) (task.Task, []string, error) {
	var t task.Task
	resources := resourceFields(&t.Resources)
	w := walk{what: "a task", given: o.Envs, tables: []table{{"", taskFields(&t, resources)}, {"resources.", resources}}}
	if err := w.read(data, decode); err != nil {
		return task.Task{}, nil, err
	}
	o.apply(&t)
	if err := t.Validate(); err != nil {
		return task.Task{}, nil, w.located(err)
	}
	return t, w.warnings, nil
}

func (o Overrides) apply(t *task.Task) {
	t.Name = cmp.Or(o.Name, t.Name)
	t.NumNodes = cmp.Or(o.NumNodes, t.NumNodes)
	if t.Envs == nil && len(o.Envs) > 0 {
		t.Envs = map[string]string{}
	}
	maps.Copy(t.Envs, o.Envs)
}

// A decoder turns a text into its tree, within limits.
type decoder func(data []byte) (*node, error)

// read walks the tree of data along the first of w's tables.
func (w *walk) read(data []byte, decode decoder) error {
	if len(data) > MaxSize {
		return task.Error(task.ErrTooLarge, fmt.Sprintf("%s of %d bytes is too large, at most %d", w.what, len(data), MaxSize))
	}
	if !utf8.Valid(data) {
		return unreadable("the text is not UTF-8")
	}
	root, err := decode(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err != nil {
		return err
	}
	if root.kind != mapping {
		return w.wrong("%s is a mapping of fields, not %s", w.what, root.kind)
	}
	return w.fields(root, w.tables[0].fields)
}

func unreadable(format string, args ...any) error {
	return task.Error(task.ErrUnreadable, fmt.Sprintf(format, args...))
}
