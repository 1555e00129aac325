package show

import (
	"fmt"
	"io"
	"strings"

	"k8s-cli/pkg/task"
)

// A Style describes what a terminal can do. The zero Style is for output to a file or
// pipe.
type Style struct {
	Color bool
	Width int  // columns; 0 means any number
	Live  bool // a line can be replaced

	NoHeaders bool // the user does not want the headers of tables
}

// The escape codes of terminal colours.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	cyan   = "36"
	gray   = "90"
)

func (s Style) paint(color, text string) string {
	if !s.Color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Line returns the escape sequence that replaces the current line by text. The text is
// truncated to the width of the terminal.
func (s Style) Line(text string) string {
	const erased = "\r\x1b[K"
	text = Plain(text)
	if s.Width > 1 {
		text = cut(text, s.Width-1) // some terminals wrap a line that fills the last column
	}
	return erased + s.paint(gray, text)
}

// Error returns text in the colour of errors, with line breaks between words.
func (s Style) Error(text string) string { return s.paint(red, s.wrap(Plain(text), 0)) }

// Warning returns text in the colour of warnings, with line breaks between words.
func (s Style) Warning(text string) string { return s.paint(yellow, s.wrap(Plain(text), 0)) }

// wrap breaks text between words where the terminal would break it within a word. The text begins in the
// column indent, and so do the next lines. Output that is no terminal has no line breaks.
func (s Style) wrap(text string, indent int) string {
	if s.Width <= indent || indent+width(text) <= s.Width {
		return text
	}
	var b strings.Builder
	column := indent
	for i, word := range strings.Split(text, " ") {
		n := width(word)
		switch {
		case i == 0:
		case column+1+n > s.Width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// rankColors are the colours of nodes and of tasks whose lines are mixed. Red is missing, because
// it is the colour of errors.
var rankColors = []string{cyan, green, yellow, blue, "35", "96", "92", "93", "94", "95"}

// Rank returns text in the colour of the node or task with this number.
func (s Style) Rank(rank int, text string) string {
	return s.paint(rankColors[rank%len(rankColors)], text)
}

// phaseColors maps the phases of tasks and volumes to colours.
var phaseColors = map[string]string{
	string(task.Pending):   yellow,
	string(task.Running):   blue,
	string(task.Completed): green,
	string(task.Failed):    red,
	string(task.Stopped):   gray,
	task.VolumePending:     yellow,
	task.VolumeBound:       green,
	task.VolumeLost:        red,
	task.VolumeFailed:      red,
	task.VolumeDeleted:     gray,
}

// A Field is a name with its value.
type Field struct{ Name, Value string }

func (f Field) empty() bool { return f.Value == "" }

// Done writes that an operation succeeded, with fields below the headline.
func Done(w io.Writer, s Style, headline string, fields ...Field) {
	fmt.Fprintln(w, s.paint(green, "✓ "+Plain(headline)))
	writeFields(w, s, fields)
}

func writeFields(w io.Writer, s Style, fields []Field) {
	for _, f := range fields {
		value := Plain(f.Value)
		switch {
		case strings.HasSuffix(f.Name, " ID"), f.Name == "Count":
			value = s.paint(cyan, value)
		case f.Name == "Status":
			value = s.paint(phaseColors[value], value)
		}
		fmt.Fprintf(w, "  %s: %s\n", f.Name, value)
	}
}
