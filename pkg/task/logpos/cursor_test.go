package logpos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A written line has a time and a text.
type written struct {
	at   time.Time
	text string
}

func (w written) sum() uint64 { return Sum([]byte(w.at.Format(time.RFC3339Nano) + " " + w.text)) }

var beginning = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

// readOn returns the lines of a reader that read the lines before first and then resumed
// the log in a file that begins with the line rotated.
func readOn(log []written, first, rotated int) (got []string) {
	var p Cursor
	for _, l := range log[:first] {
		p.Advance(l.at, l.sum())
		got = append(got, l.text)
	}
	since, again := p.Since(), p.Deduper()
	for _, l := range log[rotated:] {
		if l.at.Before(since) || again.Has(l.at, l.sum()) {
			continue
		}
		p.Advance(l.at, l.sum())
		got = append(got, l.text)
	}
	return got
}

func texts(log []written) (all []string) {
	for _, l := range log {
		all = append(all, l.text)
	}
	return all
}

// someLog returns a log with many equal times, equal lines, lines out of order from two
// streams, and pauses.
func someLog(r *rand.Rand, lines int) (log []written) {
	now := beginning
	for i := range lines {
		switch r.IntN(10) {
		case 0:
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		case 1, 2, 3:
		default:
			now = now.Add(time.Duration(r.IntN(1000)) * time.Microsecond)
		}
		at := now
		if r.IntN(4) == 0 {
			at = at.Add(-time.Duration(r.IntN(900)) * time.Millisecond)
		}
		log = append(log, written{at, strings.Repeat("x", i%2) + fmt.Sprint(r.IntN(3))})
	}
	return log
}

func TestLogIsReadOnFromEveryCursor(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		log := someLog(r, 60)
		for first := range len(log) + 1 {
			if got := readOn(log, first, 0); !slices.Equal(got, texts(log)) {
				t.Fatalf("seed %d, from line %d on: %q, want %q", seed, first, got, texts(log))
			}
		}
	}
}

// TestARotatedLogIsReadOn checks that only lines that were rotated away before they were
// read are lost.
func TestARotatedLogIsReadOn(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		log := someLog(r, 40)
		for i := range log {
			log[i].at = beginning.Add(time.Duration(i*r.IntN(50)) * time.Millisecond)
			log[i].text += fmt.Sprintf(" %d", i)
		}
		slices.SortStableFunc(log, func(a, b written) int { return a.at.Compare(b.at) })
		for first := range len(log) + 1 {
			for rotated := range first + 1 {
				if got := readOn(log, first, rotated); !slices.Equal(got, texts(log)) {
					t.Fatalf("seed %d, from line %d on, rotated at %d: %q, want %q", seed, first, rotated, got, texts(log))
				}
			}
		}
	}
}

// TestCursorInAFloodOfLines checks that the memory of a Cursor is bounded for any number of
// lines in one second.
func TestCursorInAFloodOfLines(t *testing.T) {
	var log []written
	for i := range 5 * placeLines {
		log = append(log, written{beginning.Add(time.Duration(i) * 10 * time.Microsecond), fmt.Sprint(i)})
	}
	for _, first := range []int{1, placeLines, 2*placeLines - 1, 2 * placeLines, 3*placeLines + 17, len(log)} {
		for _, rotated := range []int{0, first - 1, first} {
			if got := readOn(log, first, rotated); !slices.Equal(got, texts(log)) {
				t.Errorf("from line %d on, rotated at %d: %d lines, want %d", first, rotated, len(got), len(log))
			}
		}
	}
	var p Cursor
	for _, l := range log {
		p.Advance(l.at, l.sum())
	}
	if len(p.recent) > 2*placeLines {
		t.Errorf("%d lines are remembered", len(p.recent))
	}
}

func TestCursorForgetsLinesThatCannotBeRepeated(t *testing.T) {
	var p Cursor
	for i := range 100_000 {
		l := written{beginning.Add(time.Duration(i) * 100 * time.Millisecond), fmt.Sprint(i)}
		p.Advance(l.at, l.sum())
	}
	if len(p.recent) > 100 {
		t.Errorf("%d lines of the last two seconds are remembered", len(p.recent))
	}
}

func TestStartOfTheLogIsACursor(t *testing.T) {
	var p Cursor
	if !p.Empty() || !p.Since().IsZero() || p.Deduper().Has(beginning, 7) || p.Has(7) {
		t.Errorf("the beginning has lines before it: %+v", p)
	}
	p.Advance(beginning, 7)
	p.Advance(beginning, 7)
	if sum, run := p.Last(); p.Empty() || sum != 7 || run != 2 || !p.Has(7) {
		t.Errorf("after two lines: %+v", p)
	}
}

// TestCursorThatBeganWithinTheLog checks that a reader that began with one of the last
// lines does not get earlier lines after it resumes the log.
func TestCursorThatBeganWithinTheLog(t *testing.T) {
	log := someLog(rand.New(rand.NewPCG(1, 3)), 60)
	for i := range log {
		log[i].at = beginning.Add(time.Duration(i) * 40 * time.Millisecond)
	}
	for began := range 30 {
		for first := began + 1; first < len(log); first++ {
			var p Cursor
			p.SkipPrefix()
			for _, l := range log[began:first] {
				p.Advance(l.at, l.sum())
			}
			got := texts(log[began:first])
			since, again := p.Since(), p.Deduper()
			for _, l := range log {
				if !l.at.Before(since) && !again.Has(l.at, l.sum()) {
					got = append(got, l.text)
				}
			}
			if !slices.Equal(got, texts(log[began:])) {
				t.Fatalf("begun with line %d, read on at %d: %q, want %q", began, first, got, texts(log[began:]))
			}
		}
	}
}

// TestCursorWithinTheLog checks that a late line is new, once the lines before the first
// line are too old to be repeated.
func TestCursorWithinTheLog(t *testing.T) {
	var p Cursor
	p.SkipPrefix()
	p.Advance(beginning, 1)
	if !p.Deduper().Has(beginning, 2) {
		t.Error("a line that stands before the first one is new")
	}
	later := beginning.Add(10 * time.Second)
	p.Advance(later, 3)
	if p.Deduper().Has(later.Add(-time.Millisecond), 4) {
		t.Error("a late line is taken for one that came before")
	}
	if got, want := p.Since(), later.Truncate(time.Second).Add(-time.Second); !got.Equal(want) {
		t.Errorf("the log is read on since %v, want %v", got, want)
	}
}
