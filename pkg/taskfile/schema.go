package taskfile

import (
	"regexp"
	"strings"

	"k8s-cli/pkg/task"
)

// A schema is what a mapping may hold, by key. It is made for one parse: its
// readers know where their values go.
type schema map[string]field

// A field is one known key with its verdict.
type field struct {
	severity severity
	read     reader // of honoured and ignored fields: checks the value and stores it
	text     string // what an honoured field becomes; of others: what users are told
	forms    string // what may be written, where the name does not say it
	group    bool   // its members have verdicts of their own, or it is one of those of another
}

type severity int

const (
	isHonoured severity = iota // does what it does in SkyPilot
	isIgnored                  // accepted with a warning: the task does the same without it, elsewhere or slower
	isRefused                  // an error: without it something else would run, or something be lost
)

// A reader checks a value and stores it.
type reader func(w *decoder, n *node) error

func honoured(read reader, becomes string, forms ...string) field {
	return field{severity: isHonoured, read: read, text: becomes, forms: strings.Join(forms, "")}
}

func ignored(read reader, reason string) field {
	return field{severity: isIgnored, read: read, text: reason}
}

func refused(reason string) field { return field{severity: isRefused, text: reason} }

func group(read reader, about ...string) field {
	f := honoured(read, "")
	if f.group = true; len(about) == 2 {
		f.text, f.forms = about[0], about[1]
	}
	return f
}

const isUnset = "has no effect"

// A decoder goes over one tree along tables of fields.
type decoder struct {
	fieldPath
	what     string            // what the tree has to be
	given    map[string]string // values of envs that the tree need not have
	secrets  map[string]string // and of secrets
	tables   func() []table    // in which a better name is looked for
	warnings []string          //
	lines    map[string]int    // of the fields seen, by path
	mounts   map[string]bool   // paths at which pod_config mounts something

	alternative alternative  // the one that is read
	diagnostics *diagnostics // nil unless every field and every error is wanted
}

// A table is a schema and the path of the mapping that it describes.
type table struct {
	path   string
	fields schema
}

// fields reads the members of n along s.
func (w *decoder) fields(n *node, s schema) error {
	if n.kind != mapping {
		return w.wrong("must be a mapping of fields, not %s", n.kind)
	}
	return w.each(n, func(key string, value *node) error {
		f, known := s[key]
		switch {
		case !known:
			return w.unknown(key, s)
		case f.severity == isRefused && value.isSet():
			return w.wrong("%s", f.text)
		case f.severity == isRefused, value.kind == null:
			w.note(isUnset)
			return nil
		}
		said, wrong := len(w.warnings), w.diagnostics.count()
		if err := f.read(w, value); err != nil {
			return err
		}
		switch {
		case w.diagnostics.count() > wrong:
		case !value.isSet() && !f.group:
			w.note(isUnset)
		case f.severity == isIgnored && value.isSet():
			w.warn(f.text)
		case !f.group && len(w.warnings) == said:
			w.note(f.text)
		}
		return nil
	})
}

// each calls do for the members of n, with the path leading to them.
func (w *decoder) each(n *node, do func(key string, value *node) error) error {
	for _, m := range n.members {
		w.push(m.key, m.line)
		w.mark()
		err := do(m.key, m.value)
		w.pop()
		if err = w.diagnostics.record(err); err != nil {
			return err
		}
	}
	return nil
}

// warn says that the value at hand is accepted and not honoured, once.
func (w *decoder) warn(reason string) {
	switch {
	case w.alternative.other:
		return
	case w.alternative.steps > 0: // as if the alternative stood where its list stands
		here := w.steps
		at := w.alternative.at
		w.steps = append(append([]step{}, here[:at]...), here[at+w.alternative.steps:]...)
		defer func() { w.steps = here }()
	}
	w.warnAt(w.path(), reason)
}

// warnAt says so of the field at path.
func (w *decoder) warnAt(path, reason string) {
	text := path + ": " + reason
	for _, said := range w.warnings {
		if said == text {
			return
		}
	}
	w.warnings = append(w.warnings, text)
	w.diagnostics.add(Finding{Field: path, Line: w.lines[path], Severity: Warning, Text: reason})
}

// note tells the diagnostics what becomes of the value at hand.
func (w *decoder) note(becomes string) {
	if w.diagnostics != nil && w.alternative.steps == 0 {
		w.diagnostics.add(Finding{Field: w.path(), Line: w.line(), Severity: Honoured, Text: becomes})
	}
}

// mark notes the line at hand as the one of its path.
func (w *decoder) mark() {
	if w.line() == 0 {
		return
	}
	if w.lines == nil {
		w.lines = map[string]int{}
	}
	w.lines[w.path()] = w.line()
}

var inAlternative = regexp.MustCompile(`\.any_of\[[0-9]+\]`)

// located adds to an error of Validate the line of the field that it names, or of
// the nearest one around it that the file has. What alternatives have in common
// stands there once.
func (w *decoder) located(err error) error {
	path, text, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		path, text = "", err.Error()
	}
	line := w.lines[path]
	if common := inAlternative.ReplaceAllString(path, ""); line == 0 && w.lines[common] > 0 {
		path = common
	}
	for at := path; line == 0 && at != ""; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
		line = w.lines[at]
	}
	return &problem{task.ErrInvalid, path, text, line}
}
