package taskfile

import (
	"regexp"
	"strings"

	"k8s-cli/pkg/task/problem"
)

// A schema lists the fields of a mapping by key. A schema serves one value at a time,
// because its readers contain the destinations.
type schema map[string]field

// A field describes one known key and how the server treats it.
type field struct {
	severity severity
	read     reader // for honoured and ignored fields: checks and stores the value
	text     string // effect of an honoured field; for other fields the message to the user
	forms    string // allowed forms, if the name of the field does not show them
	group    bool   // the members of the field have findings of their own, or the field is a member of another field
}

type severity int

const (
	isHonoured severity = iota // works as in SkyPilot
	isIgnored                  // accepted with a warning: without the field, the task does the same, elsewhere or slower
	// An error: without the field, something else would run, or something would be lost.
	isRefused
)

// A reader checks a value and stores it.
type reader func(d *decoder, n *node) error

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

// A decoder reads one tree with tables of fields.
type decoder struct {
	fieldPath
	what     string            // noun for the tree in error messages
	given    map[string]string // values that override envs, so that the tree may omit them
	secrets  map[string]string // values that override secrets, so that the tree may omit them
	tables   func() []table    // tables in which to search for suggestions
	warnings []string
	lines    map[string]int  // lines of the fields so far, by path
	mounts   map[string]bool // paths at which pod_config mounts a volume
	forms    []bucketForm    // buckets that file_mounts describes by a mapping

	alternative alternative  // current alternative
	diagnostics *diagnostics // nil unless the caller wants all findings
}

// A table is a schema and the path of the mapping that it describes.
type table struct {
	path   string
	fields schema
}

// fields reads the members of n with s.
func (d *decoder) fields(n *node, s schema) error {
	if n.kind != mapping {
		return d.wrong("must be a mapping of fields, not %s", n.kind)
	}
	return d.each(n, func(key string, value *node) error {
		f, known := s[key]
		switch {
		case !known:
			return d.unknown(key, s)
		case f.severity == isRefused && value.isSet():
			return d.rejected(problem.UnsupportedField, "%s", f.text)
		case f.severity == isRefused, value.kind == null:
			d.note(isUnset)
			return nil
		}
		said, wrong := len(d.warnings), d.diagnostics.count()
		if err := f.read(d, value); err != nil {
			return err
		}
		switch {
		case d.diagnostics.count() > wrong:
		case !value.isSet() && !f.group:
			d.note(isUnset)
		case f.severity == isIgnored && value.isSet():
			d.warn(f.text)
		case !f.group && len(d.warnings) == said:
			d.note(f.text)
		}
		return nil
	})
}

// each calls do for each member of n, with the path of the member.
func (d *decoder) each(n *node, do func(key string, value *node) error) error {
	for _, m := range n.members {
		d.push(m.key, m.line)
		d.mark()
		err := do(m.key, m.value)
		d.pop()
		if err = d.diagnostics.record(err); err != nil {
			return err
		}
	}
	return nil
}

// warn adds a warning that the current value is accepted and not honoured. The same warning
// is added only once.
func (d *decoder) warn(reason string) {
	switch {
	case d.alternative.other:
		return
	case d.alternative.steps > 0: // the path in the warning omits the steps into the list of alternatives
		here := d.steps
		at := d.alternative.at
		d.steps = append(append([]step{}, here[:at]...), here[at+d.alternative.steps:]...)
		defer func() { d.steps = here }()
	}
	d.warnAt(d.path(), reason)
}

// warnAt adds a warning about the field at path, unless the same warning exists.
func (d *decoder) warnAt(path, reason string) {
	text := path + ": " + reason
	for _, said := range d.warnings {
		if said == text {
			return
		}
	}
	d.warnings = append(d.warnings, text)
	d.diagnostics.add(Finding{Field: path, Line: d.lines[path], Severity: Warning, Text: reason})
}

// note adds a finding with the effect of the current value.
func (d *decoder) note(becomes string) {
	if d.diagnostics != nil && d.alternative.steps == 0 {
		d.diagnostics.add(Finding{Field: d.path(), Line: d.line(), Severity: Honoured, Text: becomes})
	}
}

// mark records the line of the current path.
func (d *decoder) mark() {
	if d.line() == 0 {
		return
	}
	if d.lines == nil {
		d.lines = map[string]int{}
	}
	d.lines[d.path()] = d.line()
}

var inAlternative = regexp.MustCompile(`\.any_of\[[0-9]+\]`)

// located adds a line to an error of Validate: the line of the field in the error, or of
// the nearest field around it in the file. For a field that all alternatives share, located
// shortens the path to the field beside the list.
func (d *decoder) located(err error) error {
	path, text, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		path, text = "", err.Error()
	}
	line := d.lines[path]
	if common := inAlternative.ReplaceAllString(path, ""); line == 0 && d.lines[common] > 0 {
		path = common
	}
	for at := path; line == 0 && at != ""; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
		line = d.lines[at]
	}
	return &fieldError{problem.Invalid, path, text, line}
}
