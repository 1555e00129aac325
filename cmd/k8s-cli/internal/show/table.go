package show

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A table is text in aligned columns. Only on a terminal that is narrower than the table,
// the widest columns are truncated.
type table struct {
	header []string
	rows   [][]string
}

const (
	gap       = 2 // blanks between columns
	narrowest = 8 // minimum width of a truncated column
)

// column appends a column with a header. cell returns the text of the column for each
// row.
func (t *table) column(header string, cell func(row int) string) {
	t.header = append(t.header, header)
	for i := range t.rows {
		text := Plain(cell(i))
		if text == "" {
			text = "-"
		}
		t.rows[i] = append(t.rows[i], text)
	}
}

func (t table) write(w io.Writer, s Style) {
	widths := t.widths(s.Width)
	fmt.Fprintln(w, t.line(s, widths, t.header, true))
	for _, row := range t.rows {
		fmt.Fprintln(w, t.line(s, widths, row, false))
	}
}

// widths returns the widths of the columns. If possible, their sum is at most limit.
func (t *table) widths(limit int) []int {
	widths, total := make([]int, len(t.header)), -gap
	for i := range t.header {
		widths[i] = utf8.RuneCountInString(t.header[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i] + gap
	}
	for limit > 0 && total > limit {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

func (t *table) line(s Style, widths []int, cells []string, isHeader bool) string {
	var b strings.Builder
	for i, cell := range cells {
		cell = cut(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap)
		if i == len(cells)-1 {
			pad = ""
		}
		b.WriteString(s.paint(t.color(i, cell, isHeader), cell) + pad)
	}
	return b.String()
}

func (t *table) color(column int, cell string, isHeader bool) string {
	switch {
	case isHeader:
		return bold
	case t.header[column] == "Status":
		return phaseColors[cell]
	case column == 0:
		return cyan
	}
	return ""
}

// cut truncates text to width characters. Truncated text ends with an ellipsis.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
