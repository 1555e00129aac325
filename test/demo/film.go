package main

import (
	"slices"
	"time"
)

// keyGap is the longest time between two characters of one command that is typed.
const keyGap = 250 * time.Millisecond

// A segment is a part of a line that appears at once, or one character after the other.
type segment struct {
	line, column int // line counts from the first line of the session
	cells        []cell
	from         time.Duration
	typed        time.Duration // when the last character appeared, if they appeared one after the other
	until        time.Duration // 0 if the segment stays until the end
}

// A position is where the screen and its cursor are from a moment on.
type position struct {
	at       time.Duration
	scrolled int
	line, x  int // of the cursor
	hidden   bool
}

// A film is what a session shows, as segments of one long page over which the screen moves.
type film struct {
	segments  []*segment
	positions []position
	lines     []filmLine
	end       time.Duration
}

// A filmLine is a line of the page as it is at the moment.
type filmLine struct {
	cells []cell
	alive []*segment // which show the cells
}

// filmOf returns the film of a session.
func filmOf(events []event) (*film, error) {
	f := &film{}
	s := &screen{}
	for _, e := range events {
		if err := s.write(e.text); err != nil {
			return nil, err
		}
		f.capture(e.at, s)
	}
	return f, nil
}

// capture adds what changed on the screen.
func (f *film) capture(at time.Duration, s *screen) {
	f.end = at
	for y := range rows {
		for len(f.lines) <= s.scrolled+y {
			f.lines = append(f.lines, filmLine{})
		}
		f.update(at, s.scrolled+y, s.line(y))
	}
	now := position{at, s.scrolled, s.scrolled + s.y, s.x, s.hidden}
	if n := len(f.positions); n == 0 || !now.equals(f.positions[n-1]) {
		f.positions = append(f.positions, now)
	}
}

func (p position) equals(other position) bool {
	p.at = other.at
	return p == other
}

// update changes a line of the page to cells.
func (f *film) update(at time.Duration, number int, cells []cell) {
	l := &f.lines[number]
	if slices.Equal(cells, l.cells) {
		return
	}
	shared := len(l.cells)
	if len(cells) < shared || !slices.Equal(cells[:shared], l.cells) {
		for _, s := range l.alive {
			s.until = at
		}
		l.alive, shared = nil, 0
	}
	added := slices.Clone(cells[shared:])
	l.cells = slices.Clone(cells)
	if l.typing(at, added) {
		last := l.alive[len(l.alive)-1]
		last.cells = append(last.cells, added...)
		last.typed = at
		return
	}
	for len(added) > 0 && added[0].isBlank() {
		added = added[1:]
	}
	if len(added) > 0 {
		s := &segment{line: number, column: len(cells) - len(added), cells: added, from: at}
		f.segments, l.alive = append(f.segments, s), append(l.alive, s)
	}
}

// typing reports whether cells continue the last segment of the line by one character, after
// any number of blanks.
func (l *filmLine) typing(at time.Duration, cells []cell) bool {
	if len(l.alive) == 0 || len(cells) == 0 {
		return false
	}
	last := l.alive[len(l.alive)-1]
	for _, c := range cells[:len(cells)-1] {
		if !c.isBlank() {
			return false
		}
	}
	isKey := len(last.cells) == 1 || last.typed > 0
	return isKey && last.cells[0].style == cells[len(cells)-1].style && at-max(last.from, last.typed) <= time.Duration(len(cells))*keyGap
}
