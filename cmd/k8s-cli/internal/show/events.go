package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// Events writes the events of one object as a table, in the given order.
func Events(w io.Writer, s Style, events []task.Event) { eventTable(events).write(w, s) }

// GroupEvents writes the events of several tasks as a table.
func GroupEvents(w io.Writer, s Style, events []task.Event) { groupEventTable(events).write(w, s) }

func groupEventTable(events []task.Event) table {
	t := table{rows: len(events)}
	t.column("Task ID", func(i int) string { return events[i].TaskID })
	if slices.ContainsFunc(events, func(e task.Event) bool { return e.Annotations[task.AnnotationPoint] != "" }) {
		t.add(column{header: "Grid", drop: 1}, func(i int) string { return events[i].Annotations[task.AnnotationPoint] })
	}
	t.columns = append(t.columns, eventTable(events).columns...)
	return t
}

func eventTable(events []task.Event) table {
	t := table{rows: len(events)}
	t.column("Time", func(i int) string { return events[i].Time.UTC().Format(shortTime) })
	t.column("Status", func(i int) string { return events[i].Status })
	t.add(column{header: "Reason", shrink: 1}, func(i int) string { return Reason(events[i].Reason, events[i].Message) })
	return t
}

// A Live table is a table that grows while the user reads it.
type Live struct {
	w       io.Writer
	style   Style
	shown   layout   // nil before the first row
	headers []string // of the columns of shown
}

// NewLive returns an empty live table.
func NewLive(w io.Writer, s Style) *Live { return &Live{w: w, style: s} }

// Events adds events of one object.
func (l *Live) Events(events ...task.Event) { l.add(eventTable(events)) }

// GroupEvents adds events of several tasks.
func (l *Live) GroupEvents(events ...task.Event) { l.add(groupEventTable(events)) }

// Rows adds rows in the format of the function Rows.
func (l *Live) Rows(c Columns, rows ...Row) { l.add(rowTable(rows, c, time.Now())) }

// Volumes adds rows in the format of the function Volumes.
func (l *Live) Volumes(c Columns, volumes ...task.VolumeStatus) { l.add(volumeTable(volumes, c)) }

// add writes the rows of t. A column is at least as wide as in the rows before, and a dropped
// column stays dropped. add writes the header before the first row, and before a row with other columns.
func (l *Live) add(t table) {
	var headers []string
	for _, c := range t.columns {
		headers = append(headers, c.header)
	}
	if l.shown == nil || !slices.Equal(headers, l.headers) {
		l.headers, l.shown = headers, t.usual(l.style.Width)
		if !l.style.NoHeaders {
			fmt.Fprintln(l.w, t.line(l.style, l.shown, headerRow))
		}
	}
	l.grow(t)
	for row := range t.rows {
		fmt.Fprintln(l.w, t.line(l.style, l.shown, row))
	}
}

// grow widens the shown columns to the cells of t. A column of sentences gets the rest of the
// line.
func (l *Live) grow(t table) {
	for i, c := range t.columns {
		if l.shown[i] == 0 {
			continue
		}
		for _, cell := range c.cells {
			if c.shrink == 0 || l.style.Width == 0 {
				l.shown[i] = max(l.shown[i], width(cell))
			}
		}
	}
	for i, c := range t.columns {
		if c.shrink > 0 && l.shown[i] > 0 && l.style.Width > 0 {
			l.shown[i] = max(narrowest, l.style.Width-l.shown.total()+l.shown[i])
		}
	}
}

// usual returns the layout of a live table that begins with t and whose later content is
// unknown.
func (t table) usual(limit int) layout {
	likely := table{rows: t.rows + 1}
	for _, c := range t.columns {
		c.cells = append(slices.Clone(c.cells), strings.Repeat("x", usualWidth[c.header]))
		likely.columns = append(likely.columns, c)
	}
	return likely.fit(limit)
}

// usualWidth maps a column to its width in most tables.
var usualWidth = map[string]int{
	"Task ID":   len("abcd1234"),
	"Volume ID": len("abcd1234"),
	"Name":      16,
	"Status":    len(task.Completed),
	"Created":   len(shortTime),
	"Time":      len(shortTime),
	"Age":       len("10m59s"),
	"Duration":  len("10m59s"),
	"Reason":    len("ImagePullBackOff: a sentence that says why the task waits"),
}
