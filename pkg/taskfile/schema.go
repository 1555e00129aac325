package taskfile

import (
	"strings"

	"k8s-cli/pkg/task"
)

// A schema is what a mapping may hold, by key. It is made for one parse: its
// readers know where their values go.
type schema map[string]field

// A field is one known key with its verdict.
type field struct {
	verdict verdict
	read    reader // of honoured and ignored fields: checks the value and stores it
	reason  string // of ignored and refused ones: what users are told
}

type verdict int

const (
	isHonoured verdict = iota // does what it does in SkyPilot
	isIgnored                 // accepted with a warning: the task does the same without it, elsewhere or slower
	isRefused                 // an error: without it something else would run, or something be lost
)

// A reader checks a value and stores it.
type reader func(w *walk, n *node) error

func honoured(read reader) field               { return field{isHonoured, read, ""} }
func ignored(read reader, reason string) field { return field{isIgnored, read, reason} }
func refused(reason string) field              { return field{isRefused, nil, reason} }

// A walk goes over one tree along tables of fields.
type walk struct {
	trail
	what     string            // what the tree has to be
	given    map[string]string // values of envs that the tree need not have
	tables   []table           // the first is the root's; all are looked at for a better name
	warnings []string          //
	lines    map[string]int    // of the fields seen, by path
}

// A table is a schema and the path of the mapping that it describes.
type table struct {
	path   string
	fields schema
}

// fields reads the members of n along s.
func (w *walk) fields(n *node, s schema) error {
	if n.kind != mapping {
		return w.wrong("has to be a mapping of fields, not %s", n.kind)
	}
	return w.each(n, func(key string, value *node) error {
		f, known := s[key]
		switch {
		case !known:
			return w.unknown(key, s)
		case f.verdict == isRefused && value.asks():
			return w.wrong("%s", f.reason)
		case f.verdict == isRefused, value.kind == null:
			return nil
		}
		if err := f.read(w, value); err != nil {
			return err
		}
		if f.verdict == isIgnored && value.asks() {
			w.warn(f.reason)
		}
		return nil
	})
}

// each calls do for the members of n, with the trail leading to them.
func (w *walk) each(n *node, do func(key string, value *node) error) error {
	for _, m := range n.members {
		w.push(m.key, m.line)
		w.mark(w.path())
		if err := do(m.key, m.value); err != nil {
			return err
		}
		w.pop()
	}
	return nil
}

func (w *walk) warn(reason string) { w.warnings = append(w.warnings, w.say("%s", reason)) }

// mark notes the line at hand as the one of path.
func (w *walk) mark(path string) {
	if w.line() == 0 {
		return
	}
	if w.lines == nil {
		w.lines = map[string]int{}
	}
	w.lines[path] = w.line()
}

// located adds to an error of Validate the line of the field that it names.
func (w *walk) located(err error) error {
	path, _, _ := strings.Cut(err.Error(), ": ")
	return task.Error(task.ErrInvalid, err.Error()+inLine(w.lines[path]))
}
