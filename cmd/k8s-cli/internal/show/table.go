package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// A table is text in aligned columns. Output that is no terminal has all columns. On a
// terminal that is narrower than the table, the table loses columns without any value, then others in
// a fixed order,
// and one column of sentences may be truncated. All other columns stay complete, even if
// the lines are then wider than the terminal.
type table struct {
	columns []column
	rows    int
}

// A column is one column of a table.
type column struct {
	header string
	cells  []string

	drop   int // number of the step that drops the column; 0 means that it always stays
	shrink int // number of the step that truncates the column; 0 means that it is never truncated
}

const (
	gap       = 2  // blanks between columns
	narrowest = 16 // minimum width of a truncated column
)

// screen measures text in the columns of a terminal. It counts characters of ambiguous
// width as narrow, because terminals do so outside East Asia, and because the result must
// not depend on the user's locale.
var screen = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns the number of columns of a terminal that text takes.
func width(text string) int { return screen.StringWidth(text) }

// cut truncates text to a number of columns. Truncated text ends with an ellipsis.
func cut(text string, columns int) string { return screen.Truncate(text, columns, "…") }

// isEmpty reports whether no cell of a column has a value.
func (c column) isEmpty() bool {
	return !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != noValue })
}

// noValue is the text of a cell without a value.
const noValue = "-"

// add appends a column. cell returns the text of the column for each row.
func (t *table) add(c column, cell func(row int) string) {
	for i := range t.rows {
		text := Plain(cell(i))
		if text == "" {
			text = noValue
		}
		c.cells = append(c.cells, text)
	}
	t.columns = append(t.columns, c)
}

// column appends a column that always stays.
func (t *table) column(header string, cell func(row int) string) { t.add(column{header: header}, cell) }

func (t table) write(w io.Writer, s Style) {
	l := t.fit(s.Width)
	if !s.NoHeaders {
		fmt.Fprintln(w, t.line(s, l, headerRow))
	}
	for row := range t.rows {
		fmt.Fprintln(w, t.line(s, l, row))
	}
}

// A layout maps the columns of a table that a terminal shows to their widths. Dropped
// columns have the width 0.
type layout []int

const headerRow = -1

// fit returns the layout for a terminal with this number of columns; 0 means any number.
func (t table) fit(limit int) layout {
	l, last := make(layout, len(t.columns)), 0
	for i, c := range t.columns {
		l[i] = width(c.header)
		for _, cell := range c.cells {
			l[i] = max(l[i], width(cell))
		}
		last = max(last, c.drop, c.shrink)
	}
	for i, c := range t.columns {
		if limit > 0 && l.total() > limit && c.drop > 0 && c.isEmpty() {
			l[i] = 0
		}
	}
	full := slices.Clone(l)
	for step := 1; limit > 0 && step <= last && l.total() > limit; step++ {
		for i, c := range t.columns {
			switch step {
			case c.drop:
				l[i] = 0
			case c.shrink:
				l[i] = min(l[i], narrowest)
			}
		}
	}
	for i := range l { // a truncated column gets the rest of the line
		if l[i] > 0 && l[i] < full[i] {
			l[i] = min(full[i], max(l[i], limit-l.total()+l[i]))
		}
	}
	return l
}

// total returns the number of columns of a line.
func (l layout) total() int {
	total := -gap
	for _, width := range l {
		if width > 0 {
			total += width + gap
		}
	}
	return total
}

// line returns one row, or the header.
func (t table) line(s Style, l layout, row int) string {
	var b strings.Builder
	pad := ""
	for i, c := range t.columns {
		if l[i] == 0 {
			continue
		}
		text, color := c.header, bold
		if row != headerRow {
			text = c.cells[row]
			color = c.color(i, text)
		}
		text = cut(text, l[i])
		b.WriteString(pad + s.paint(color, text))
		pad = strings.Repeat(" ", l[i]-width(text)+gap)
	}
	return b.String()
}

// color returns the colour of a cell in the column with this index.
func (c column) color(index int, cell string) string {
	switch {
	case c.header == "Status":
		return phaseColors[cell]
	case index == 0:
		return cyan
	}
	return ""
}
