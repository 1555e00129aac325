package show

import (
	"fmt"
	"io"

	"k8s-cli/pkg/task"
)

// Events writes the events of one object as a table, in the given order.
func Events(w io.Writer, s Style, events []task.Event) { eventTable(events).write(w, s) }

func eventTable(events []task.Event) table {
	t := table{rows: make([][]string, len(events))}
	t.column("Time", func(i int) string { return events[i].Time.UTC().Format(shortTime) })
	t.column("Status", func(i int) string { return events[i].Status })
	t.column("Reason", func(i int) string { return Reason(events[i].Reason, events[i].Message) })
	return t
}

// A Live table is a table that grows while the user reads it.
type Live struct {
	w      io.Writer
	style  Style
	widths []int // of the columns; nil before the first row
}

// NewLive returns an empty live table.
func NewLive(w io.Writer, s Style) *Live { return &Live{w: w, style: s} }

// Events adds events of one object.
func (l *Live) Events(events ...task.Event) { l.add(eventTable(events)) }

// Tasks adds rows in the format of the function Tasks.
func (l *Live) Tasks(c Columns, tasks ...task.Status) { l.add(taskTable(tasks, c)) }

// Volumes adds rows in the format of the function Volumes.
func (l *Live) Volumes(c Columns, volumes ...task.VolumeStatus) { l.add(volumeTable(volumes, c)) }

// add writes the rows of t. A column is at least as wide as in the rows before. add
// writes the header before the first row.
func (l *Live) add(t table) {
	widths := t.widths(l.style.Width)
	first := l.widths == nil
	for i, width := range l.widths {
		widths[i] = max(width, widths[i])
	}
	if first {
		for i, name := range t.header {
			widths[i] = max(widths[i], usual[name])
		}
		fmt.Fprintln(l.w, t.line(l.style, widths, t.header, true))
	}
	l.widths = widths
	for _, row := range t.rows {
		fmt.Fprintln(l.w, t.line(l.style, widths, row, false))
	}
}

// usual maps a column to its initial width in a live table, whose later content is
// unknown.
var usual = map[string]int{
	"Task ID":   len("abcd1234"),
	"Volume ID": len("abcd1234"),
	"Name":      16,
	"Status":    len(task.Completed),
	"Created":   len(shortTime),
	"Time":      len(shortTime),
}
