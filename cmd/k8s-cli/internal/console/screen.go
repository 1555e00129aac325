package console

import (
	"fmt"
	"io"
	"strings"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseLine  = "\x1b[K" // to the end of the line
	eraseBelow = "\x1b[J"
	eraseAll   = "\x1b[H\x1b[2J" // and moves the cursor to the top
)

// A Screen is a part of a terminal that holds one text. A Screen replaces the text in place, so that
// a list stays up to date without filling the scrollback. Close must be called, because a Screen
// hides the cursor.
type Screen struct {
	w     io.Writer
	shown string
	lines int // of shown
	open  bool
}

// NewScreen returns an empty screen below the cursor.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Draw replaces the text of the screen by text, whose lines must be shorter than those of the
// terminal and fewer than its rows. Draw writes nothing if the text is the same.
func (s *Screen) Draw(text string) error {
	if s.open && text == s.shown {
		return nil
	}
	var b strings.Builder
	b.WriteString(hideCursor)
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.lines)
	}
	lines := 0
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSuffix(line, "\n") + eraseLine + "\r\n")
		lines++
	}
	b.WriteString(eraseBelow)
	s.shown, s.lines, s.open = text, lines, true
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Clear erases the terminal, so that the next Draw begins at its top. After a change of the size of the
// terminal, the lines of the text may be anywhere.
func (s *Screen) Clear() error {
	if !s.open {
		return nil
	}
	s.shown, s.lines = "", 0
	_, err := io.WriteString(s.w, eraseAll)
	return err
}

// Close shows the cursor again. The text stays on the terminal.
func (s *Screen) Close() {
	if s.open {
		s.open = false
		_, _ = io.WriteString(s.w, showCursor)
	}
}
