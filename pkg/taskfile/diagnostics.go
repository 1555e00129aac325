package taskfile

import (
	"errors"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile/documents"
)

// A Severity says how the server treats one field of a task file.
type Severity string

// The values of Severity.
const (
	Honoured Severity = "honoured" // works as in SkyPilot
	Warning  Severity = "warning"  // accepted, but not or only partly honoured
	Refused  Severity = "error"    // the file is rejected
)

// A Finding says how the server treats one field.
type Finding struct {
	Field    string   `json:"field,omitempty"` // path of the field; empty for the whole text
	Line     int      `json:"line,omitempty"`
	Severity Severity `json:"verdict"`
	Text     string   `json:"text"` // effect of the field, or the reason
}

// String returns the finding as one line, in the form of errors: "line N, FIELD: text".
func (f Finding) String() string {
	return (&fieldError{path: f.Field, text: f.Text, line: f.Line}).Error()
}

// Check parses a task file like ParseWith. Check returns a finding for each field, in the
// order of the file, and all errors.
func Check(data []byte, o Overrides) []Finding {
	findings, _ := CheckTask(data, o)
	return findings
}

// CheckTask is Check, and also returns the task with the fields that are valid.
func CheckTask(data []byte, o Overrides) ([]Finding, task.Spec) {
	q := &diagnostics{}
	t, _, err := parseTask(data, fromYAML, o, q)
	if err != nil && !errors.Is(err, errEnough) {
		all, several := errors.AsType[duplicates](err)
		if !several {
			all = duplicates{err}
		}
		for _, err := range all {
			q.correct(findingOf(err))
		}
	}
	return q.findings, t
}

// maxErrors is the largest number of errors that Check reports.
const maxErrors = 50

var errEnough = errors.New("too many errors")

// A diagnostics collects findings, errors included. A nil diagnostics collects nothing.
type diagnostics struct {
	findings []Finding
	errors   int
}

func (d *diagnostics) add(f Finding) {
	if d != nil {
		d.findings = append(d.findings, f)
	}
}

// record adds err to the findings and returns nil, so that the decoder continues. record
// returns an error if the decoder must stop.
func (d *diagnostics) record(err error) error {
	if d == nil || err == nil || errors.Is(err, errEnough) {
		return err
	}
	d.add(findingOf(err))
	if d.errors++; d.errors == maxErrors {
		return errEnough
	}
	return nil
}

// correct adds an error that is found only after the whole task was read. The error
// replaces the earlier findings of its field. If the field, a field inside or a field
// around it already has an error, correct adds nothing.
func (d *diagnostics) correct(f Finding) {
	isOf := func(other Finding) bool { return f.Field != "" && other.Field == f.Field }
	for _, other := range d.findings {
		if other.Severity == Refused && (isOf(other) || strings.HasPrefix(other.Field, f.Field+".") || strings.HasPrefix(f.Field, other.Field+".")) {
			return
		}
	}
	d.errors++
	first := slices.IndexFunc(d.findings, isOf)
	if first < 0 {
		d.add(f)
		return
	}
	d.findings[first] = f
	d.findings = append(d.findings[:first+1], slices.DeleteFunc(d.findings[first+1:], isOf)...)
}

// correctWarning replaces the first finding of a field by a warning, or adds the warning.
func (d *diagnostics) correctWarning(f Finding) {
	i := slices.IndexFunc(d.findings, func(other Finding) bool { return other.Field == f.Field })
	switch {
	case i < 0:
		d.add(f)
	case d.findings[i].Severity == Honoured:
		d.findings[i] = f
	}
}

// Lines returns the lines of the fields of a task file, by path. The file must be valid.
func Lines(data []byte) map[string]int {
	d := decoder{what: "a task", tables: taskTables, diagnostics: &diagnostics{}}
	_, _ = taskPools.fill(func(s schema) error { return d.read(data, fromYAML, s) })
	return d.lines
}

// count returns the number of errors.
func (d *diagnostics) count() int {
	if d == nil {
		return 0
	}
	return d.errors
}

// wrong reports whether there are errors.
func (d *diagnostics) wrong() bool { return d.count() > 0 }

func findingOf(err error) Finding {
	if p, ok := errors.AsType[*fieldError](err); ok {
		return Finding{Field: p.path, Line: p.line, Severity: Refused, Text: p.text}
	}
	return Finding{Severity: Refused, Text: err.Error()}
}

// A fieldError is an error about one value.
type fieldError struct {
	kind error // one of the kinds of package task
	path string
	text string
	line int // 0 if unknown
}

func (e *fieldError) Error() string {
	text := e.text
	if e.path != "" {
		text = e.path + ": " + text
	}
	return documents.InLine(e.line, e.path != "", text)
}

func (e *fieldError) Unwrap() error { return e.kind }

// Field returns the path of the value. Package problem calls Field.
func (e *fieldError) Field() string { return e.path }
