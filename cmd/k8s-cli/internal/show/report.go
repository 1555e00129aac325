package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/taskfile"
)

// A Report holds the findings on one task file.
type Report struct {
	File       string             `json:"file"`
	Acceptable bool               `json:"acceptable"`
	Fields     []taskfile.Finding `json:"fields"`

	warnings, errors int
}

// NewReport returns a report of findings on the fields of a file.
func NewReport(file string, findings []taskfile.Finding) Report {
	r := Report{File: file, Fields: append([]taskfile.Finding{}, findings...)}
	for _, f := range findings {
		switch f.Severity {
		case taskfile.Warning:
			r.warnings++
		case taskfile.Refused:
			r.errors++
		}
	}
	r.Acceptable = r.errors == 0
	return r
}

const markWidth = 4 // columns before a finding

// marks shows a severity as a sign, for terminals without colour.
var marks = map[taskfile.Severity][2]string{
	taskfile.Honoured: {"✓", green},
	taskfile.Warning:  {"!", yellow},
	taskfile.Refused:  {"✗", red},
}

// Findings writes the findings on a file, one line for each field.
func Findings(w io.Writer, s Style, r Report) { writeFindings(w, s, r, r.Fields) }

// Problems writes the warnings and the errors of a file. A file without any has no output.
func Problems(w io.Writer, s Style, r Report) {
	if r.warnings+r.errors > 0 {
		writeFindings(w, s, r, slices.DeleteFunc(slices.Clone(r.Fields), func(f taskfile.Finding) bool { return f.Severity == taskfile.Honoured }))
	}
}

// Totals writes a line about the reports on several tasks.
func Totals(w io.Writer, reports []Report) {
	wrong, errors, warnings := 0, 0, 0
	for _, r := range reports {
		errors, warnings = errors+r.errors, warnings+r.warnings
		if !r.Acceptable {
			wrong++
		}
	}
	parts := []string{fmt.Sprintf("%d acceptable", len(reports)-wrong)}
	for _, part := range []string{ofNumber(wrong, " not acceptable"), counted(errors, "error"), counted(warnings, "warning")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	fmt.Fprintf(w, "\nTotal tasks: %d: %s\n", len(reports), strings.Join(parts, ", "))
}

func ofNumber(n int, what string) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + what
}

func writeFindings(w io.Writer, s Style, r Report, fields []taskfile.Finding) {
	color, verdict := green, "acceptable"
	if !r.Acceptable {
		color, verdict = red, "not acceptable"
	}
	for _, part := range []string{counted(r.errors, "error"), counted(r.warnings, "warning")} {
		if part != "" {
			verdict += ", " + part
		}
	}
	fmt.Fprintln(w, s.paint(color, Plain(r.File)+": "+verdict))
	for _, f := range fields {
		mark := marks[f.Severity]
		fmt.Fprintf(w, "  %s %s\n", s.paint(mark[1], mark[0]), s.wrap(Plain(f.String()), markWidth))
	}
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
