package show

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task/usage"
)

// Usage writes a report as a table, with the total in the last row. by lists the fields that the
// rows distinguish; empty means the day.
func Usage(w io.Writer, s Style, r usage.Report, by []string) {
	rows := r.Rows
	if len(rows) == 0 {
		if !s.NoHeaders {
			fmt.Fprintf(w, "No tasks have ended since %s\n", r.Since)
		}
		return
	}
	if !s.NoHeaders {
		rows = append(slices.Clone(rows), usage.Row{Hours: r.Total})
	}
	t := table{rows: len(rows)}
	for i, f := range fieldsOf(by) {
		t.column(f.title, func(n int) string {
			if text := f.of(rows[n]); text != "" || n < len(r.Rows) {
				return text
			}
			if i == 0 {
				return "Total"
			}
			return ""
		})
	}
	t.column("Tasks", func(n int) string { return strconv.Itoa(rows[n].Tasks) })
	for _, h := range usageHours {
		t.column(h.title, func(n int) string { return fmt.Sprintf("%.2f", h.of(rows[n].Hours)) })
	}
	t.write(w, s)
}

// UsageCSV writes the rows of a report as CSV with a header.
func UsageCSV(w io.Writer, r usage.Report, by []string) error {
	c := csv.NewWriter(w)
	fields := fieldsOf(by)
	var header []string
	for _, f := range fields {
		header = append(header, f.name)
	}
	header = append(header, "tasks")
	for _, h := range usageHours {
		header = append(header, h.name)
	}
	all := [][]string{header}
	for _, row := range r.Rows {
		var line []string
		for _, f := range fields {
			line = append(line, inert(f.of(row)))
		}
		line = append(line, strconv.Itoa(row.Tasks))
		for _, h := range usageHours {
			line = append(line, strconv.FormatFloat(h.of(row.Hours), 'f', -1, 64))
		}
		all = append(all, line)
	}
	if err := c.WriteAll(all); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// inert returns a text that no spreadsheet program takes for a formula.
func inert(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

type usageField struct {
	name, title string
	of          func(usage.Row) string
}

var usageFields = []usageField{
	{usage.ByDay, "Day", func(r usage.Row) string { return r.Day }},
	{usage.ByUser, "User", func(r usage.Row) string { return r.User }},
	{usage.ByGroup, "Group", func(r usage.Row) string { return r.Group }},
}

// fieldsOf returns the fields that the rows of a report have.
func fieldsOf(by []string) []usageField {
	if len(by) == 0 {
		by = []string{usage.ByDay}
	}
	return slices.DeleteFunc(slices.Clone(usageFields), func(f usageField) bool { return !slices.Contains(by, f.name) })
}

var usageHours = []struct {
	name, title string
	of          func(usage.Hours) float64
}{
	{"node_hours", "Node h", func(h usage.Hours) float64 { return h.Nodes }},
	{"cpu_hours", "CPU h", func(h usage.Hours) float64 { return h.CPU }},
	{"gpu_hours", "GPU h", func(h usage.Hours) float64 { return h.GPU }},
	{"memory_gib_hours", "GiB h", func(h usage.Hours) float64 { return h.Memory }},
}
