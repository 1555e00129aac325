package show

import (
	"fmt"
	"io"
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

// marks shows a severity as a sign, for terminals without colour.
var marks = map[taskfile.Severity][2]string{
	taskfile.Honoured: {"✓", green},
	taskfile.Warning:  {"!", yellow},
	taskfile.Refused:  {"✗", red},
}

// Findings writes the findings on a file, one line for each field.
func Findings(w io.Writer, s Style, r Report) {
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
	for _, f := range r.Fields {
		parts := []string{f.Text}
		if f.Field != "" {
			parts = append([]string{f.Field}, parts...)
		}
		line := Plain(strings.Join(parts, ": "))
		if f.Line > 0 {
			line = fmt.Sprintf("line %d, %s", f.Line, line)
		}
		mark := marks[f.Severity]
		fmt.Fprintf(w, "  %s %s\n", s.paint(mark[1], mark[0]), line)
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
