package taskfile

import (
	"errors"
	"slices"
	"strings"

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
	q := &diagnostics{}
	if _, _, err := parseTask(data, fromYAML, o, q); err != nil && !errors.Is(err, errEnough) {
		all, several := errors.AsType[duplicates](err)
		if !several {
			all = duplicates{err}
		}
		for _, err := range all {
			q.correct(findingOf(err))
		}
	}
	return q.findings
}

// maxErrors is the largest number of errors that Check reports.
const maxErrors = 50

var errEnough = errors.New("too many errors")

// A diagnostics collects findings, errors included. A nil diagnostics collects nothing.
type diagnostics struct {
	findings []Finding
	errors   int
}

func (q *diagnostics) add(f Finding) {
	if q != nil {
		q.findings = append(q.findings, f)
	}
}

// record adds err to the findings and returns nil, so that the decoder continues. record
// returns an error if the decoder must stop.
func (q *diagnostics) record(err error) error {
	if q == nil || err == nil || errors.Is(err, errEnough) {
		return err
	}
	q.add(findingOf(err))
	if q.errors++; q.errors == maxErrors {
		return errEnough
	}
	return nil
}

// correct adds an error that is found only after the whole task was read. The error
// replaces the earlier findings of its field. If the field, a field inside or a field
// around it already has an error, correct adds nothing.
func (q *diagnostics) correct(f Finding) {
	isOf := func(other Finding) bool { return f.Field != "" && other.Field == f.Field }
	for _, other := range q.findings {
		if other.Severity == Refused && (isOf(other) || strings.HasPrefix(other.Field, f.Field+".") || strings.HasPrefix(f.Field, other.Field+".")) {
			return
		}
	}
	q.errors++
	first := slices.IndexFunc(q.findings, isOf)
	if first < 0 {
		q.add(f)
		return
	}
	q.findings[first] = f
	q.findings = append(q.findings[:first+1], slices.DeleteFunc(q.findings[first+1:], isOf)...)
}

// correctWarning replaces the first finding of a field by a warning, or adds the warning.
func (q *diagnostics) correctWarning(f Finding) {
	i := slices.IndexFunc(q.findings, func(other Finding) bool { return other.Field == f.Field })
	switch {
	case i < 0:
		q.add(f)
	case q.findings[i].Severity == Honoured:
		q.findings[i] = f
	}
}

// Lines returns the lines of the fields of a task file, by path. The file must be valid.
func Lines(data []byte) map[string]int {
	w := decoder{what: "a task", tables: taskTables, diagnostics: &diagnostics{}}
	_, _ = taskPools.fill(func(s schema) error { return w.read(data, fromYAML, s) })
	return w.lines
}

// count returns the number of errors.
func (q *diagnostics) count() int {
	if q == nil {
		return 0
	}
	return q.errors
}

// wrong reports whether there are errors.
func (q *diagnostics) wrong() bool { return q.count() > 0 }

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

func (p *fieldError) Error() string {
	text := p.text
	if p.path != "" {
		text = p.path + ": " + text
	}
	return documents.InLine(p.line, p.path != "", text)
}

func (p *fieldError) Unwrap() error { return p.kind }

// Field returns the path of the value. Package problem calls Field.
func (p *fieldError) Field() string { return p.path }
