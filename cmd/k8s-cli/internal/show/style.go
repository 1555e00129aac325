package show

import (
	"fmt"
	"io"
	"strings"

	"k8s-cli/pkg/task"
)

// A Style is what the reader's screen can do. The zero Style is for what is no
// screen.
type Style struct {
	Color bool
	Width int  // columns; 0 means any number
	Live  bool // a line can be put in the place of another
}

// The colours of a terminal, by their codes.
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

// Line returns what puts text in the place of the line that the cursor is on, cut
// to the width of the screen.
func (s Style) Line(text string) string {
	const erased = "\r\x1b[K"
	text = Plain(text)
	if s.Width > 1 {
		text = cut(text, s.Width-1) // in the last column some terminals go on to the next line
	}
	return erased + s.paint(gray, text)
}

// Error returns text painted as what went wrong.
func (s Style) Error(text string) string { return s.paint(red, Plain(text)) }

// Warning returns text painted as what may go wrong.
func (s Style) Warning(text string) string { return s.paint(yellow, Plain(text)) }

// phaseColors says how the phases of tasks and volumes look.
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

// A Field is a name and its value.
type Field struct{ Name, Value string }

func (f Field) empty() bool { return f.Value == "" }

// Done writes that something succeeded, and its fields below.
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
