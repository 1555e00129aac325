package taskfile

import (
	"errors"
	"slices"
	"strings"
)

// A Severity says what becomes of one field of a task file.
type Severity string

// The verdicts.
const (
	Honoured Severity = "honoured" // does what it does in SkyPilot
	Warning  Severity = "warning"  // accepted, and not or not quite honoured
	Refused  Severity = "error"    // the file is not accepted
)

// A Finding is the verdict on one field.
type Finding struct {
	Field    string   `json:"field,omitempty"` // its path; empty if it is the text itself
	Line     int      `json:"line,omitempty"`
	Severity Severity `json:"verdict"`
	Text     string   `json:"text"` // what it becomes, or the reason
}

// Check reads a task file as ParseWith does, and returns what becomes of each
// of its fields, in their order, and all that is wrong with it.
func Check(data []byte, o Overrides) []Finding {
	q := &diagnostics{}
	if _, _, err := parseTask(data, fromYAML, o, q); err != nil && !errors.Is(err, errEnough) {
		q.correct(findingOf(err))
	}
	return q.findings
}

// maxErrors is how many errors of one file are found: more help nobody.
const maxErrors = 50

var errEnough = errors.New("too many errors")

// A diagnostics collects verdicts, errors included. A nil one collects nothing.
type diagnostics struct {
	findings []Finding
	errors   int
}

func (q *diagnostics) add(f Finding) {
	if q != nil {
		q.findings = append(q.findings, f)
	}
}

// record returns the error that ends the walk: none if err could be added to the
// findings.
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

// correct adds an error that shows only once the whole task is read, in the place
// of what was said of the field before. Of one that is wrong anyhow, or has
// something wrong in it, that is enough.
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

// count returns how many errors were found.
func (q *diagnostics) count() int {
	if q == nil {
		return 0
	}
	return q.errors
}

// wrong reports whether errors were found.
func (q *diagnostics) wrong() bool { return q.count() > 0 }

func findingOf(err error) Finding {
	if p, ok := errors.AsType[*problem](err); ok {
		return Finding{Field: p.path, Line: p.line, Severity: Refused, Text: p.text}
	}
	return Finding{Severity: Refused, Text: err.Error()}
}

// A problem is what is wrong with one value.
type problem struct {
	kind error // one of task's
	path string
	text string
	line int // 0 if it has none
}

func (p *problem) Error() string {
	text := p.text + inLine(p.line)
	if p.path == "" {
		return text
	}
	return p.path + ": " + text
}

func (p *problem) Unwrap() error { return p.kind }
