package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The size of the terminal.
const (
	columns = 80
	rows    = 24
)

// A style is the appearance of a character. The zero style is that of plain text.
type style struct {
	color int // 1 to 8 for the dark colours, 9 to 16 for the bright colours, 0 for the default
	bold  bool
}

// A cell holds one character. The zero cell is blank.
type cell struct {
	char  rune
	style style
}

func (c cell) isBlank() bool { return c.char == 0 || c.char == ' ' }

// A screen is the screen of a terminal. It implements the control sequences that bash and
// k8s-cli write, and reports every other sequence as an error: a sequence that the screen
// ignored would falsify the recording.
type screen struct {
	lines    [rows][columns]cell
	x, y     int // of the cursor; x is columns if the next character begins a new line
	style    style
	hidden   bool // the cursor is hidden
	scrolled int  // number of lines that have left the screen at the top
}

// write interprets text, which must not end within a control sequence.
func (s *screen) write(text string) error {
	for text != "" {
		char, size := utf8.DecodeRuneInString(text)
		switch {
		case char == '\x1b':
			length, err := s.escape(text)
			if err != nil {
				return err
			}
			size = length
		case char == '\r':
			s.x = 0
		case char == '\n':
			s.lineFeed()
		case char == '\b':
			s.x = max(min(s.x, columns-1)-1, 0)
		case char == '\a':
		case char < ' ':
			return fmt.Errorf("the screen does not implement the control character %q", char)
		default:
			s.put(char)
		}
		text = text[size:]
	}
	return nil
}

func (s *screen) put(char rune) {
	if s.x == columns {
		s.x = 0
		s.lineFeed()
	}
	s.lines[s.y][s.x] = cell{char, s.style}
	s.x++
}

func (s *screen) lineFeed() {
	if s.y < rows-1 {
		s.y++
		return
	}
	copy(s.lines[:], s.lines[1:])
	s.lines[rows-1] = [columns]cell{}
	s.scrolled++
}

// isComplete reports whether text does not end within a character or a control sequence.
func isComplete(text string) bool {
	if i := strings.LastIndexByte(text, '\x1b'); i >= 0 {
		if tail := text[i+1:]; tail == "" || tail[0] == '[' && strings.IndexFunc(tail[1:], isFinal) < 0 {
			return false
		}
	}
	return utf8.ValidString(text)
}

// isFinal reports whether a character ends a control sequence.
func isFinal(char rune) bool { return char >= '@' && char <= '~' }

// escape interprets the control sequence at the beginning of text and returns its length.
func (s *screen) escape(text string) (int, error) {
	end := -1
	if strings.HasPrefix(text, "\x1b[") {
		end = strings.IndexFunc(text[2:], isFinal)
	}
	if end < 0 {
		return 0, fmt.Errorf("the screen does not implement the sequence at the beginning of %.8q", text)
	}
	length := 2 + end + 1
	parameters, final := text[2:length-1], text[length-1]
	var err error
	switch {
	case strings.HasPrefix(parameters, "?"):
		s.setMode(parameters[1:], final == 'h')
	case final == 'm':
		err = s.setStyle(parameters)
	default:
		n, parseErr := strconv.Atoi(parameters)
		if parseErr != nil && parameters != "" || !s.control(final, n) {
			err = fmt.Errorf("the screen does not implement the sequence %q", text[:length])
		}
	}
	return length, err
}

// setMode sets a private mode. Modes that do not change what the screen shows, such as
// bracketed paste, have no effect.
func (s *screen) setMode(mode string, on bool) {
	if mode == "25" {
		s.hidden = !on
	}
}

// control moves the cursor or erases characters, and reports whether the screen implements
// the sequence.
func (s *screen) control(final byte, n int) bool {
	s.x = min(s.x, columns-1)
	switch final {
	case 'A':
		s.y = max(s.y-max(n, 1), 0)
	case 'C':
		s.x = min(s.x+max(n, 1), columns-1)
	case 'D':
		s.x = max(s.x-max(n, 1), 0)
	case 'K':
		clear(s.lines[s.y][s.x:])
		return n == 0
	case 'J':
		clear(s.lines[s.y][s.x:])
		clear(s.lines[s.y+1:])
		return n == 0
	default:
		return false
	}
	return true
}

func (s *screen) setStyle(parameters string) error {
	for code := range strings.SplitSeq(parameters, ";") {
		n, err := strconv.Atoi(code)
		switch {
		case code == "", code == "0":
			s.style = style{}
		case err != nil:
			return fmt.Errorf("the screen does not implement the style %q", parameters)
		case n == 1:
			s.style.bold = true
		case n == 22:
			s.style.bold = false
		case n >= 30 && n <= 37:
			s.style.color = n - 30 + 1
		case n == 39:
			s.style.color = 0
		case n >= 90 && n <= 97:
			s.style.color = n - 90 + 9
		default:
			return fmt.Errorf("the screen does not implement the style %q", parameters)
		}
	}
	return nil
}

// line returns the characters of a line up to the last one that is not blank.
func (s *screen) line(y int) []cell {
	cells := s.lines[y][:]
	for len(cells) > 0 && cells[len(cells)-1].isBlank() {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// text returns the lines of the screen down to the cursor.
func (s *screen) text() string {
	var b strings.Builder
	for y := range s.y + 1 {
		b.WriteString(textOf(s.line(y)) + "\n")
	}
	return b.String()
}

// textOf returns the characters of cells.
func textOf(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(max(c.char, ' '))
	}
	return b.String()
}
