// Package logcursor tracks the position up to which a container log was read, and
// recognises repeated lines after a reconnect.
package logcursor

import (
	"hash/maphash"
	"slices"
	"time"
)

const (
	// maxSkew is the largest difference by which the times of lines may be out of order.
	// The container runtime reads the two streams of a container independently, and stamps
	// a line after reading it completely. The difference is therefore as long as a process
	// may be delayed.
	maxSkew = time.Second

	placeLines = 4096 // largest number of lines that a Cursor remembers
)

var lineSeed = maphash.MakeSeed()

// Sum returns a hash of a log line with its time. The hash is valid only within this
// process.
func Sum(line []byte) uint64 { return maphash.Bytes(lineSeed, line) }

// A Cursor is the position up to which a log was read. Kubernetes can resume a log only
// from a whole second, so a resumed log repeats lines. A Cursor remembers the newest lines
// and not only their times, so that it recognises repeated lines even if several lines have
// the same time, lines are out of order, or the log was rotated. The zero Cursor is the
// beginning of the log.
type Cursor struct {
	recent     []lineKey // newest lines, in the order of arrival
	old        int       // number of elements at the front of recent that are no longer valid
	newest     int64     // Unix second of the newest line
	latest     time.Time
	dropped    int64 // newest second of a line that was not remembered for lack of space
	skipPrefix bool
	last       uint64
	run        int // number of equal lines at the end
}

type lineKey struct {
	second int64
	sum    uint64
}

// SkipPrefix marks an empty Cursor as a position within the log: lines before the first
// line that arrives are treated as read.
func (p *Cursor) SkipPrefix() { p.skipPrefix = true }

// Advance moves the position after a line.
func (p *Cursor) Advance(at time.Time, sum uint64) {
	if p.run > 0 && p.last == sum {
		p.run++
	} else {
		p.last, p.run = sum, 1
	}
	second := at.Unix()
	if p.skipPrefix {
		p.skipPrefix, p.dropped = false, second+int64(maxSkew/time.Second)
	}
	if second > p.newest || p.newest == 0 {
		p.newest = second
	}
	if at.After(p.latest) {
		p.latest = at
	}
	p.recent = append(p.recent, lineKey{second, sum})
	p.prune()
}

// prune forgets lines that are too old to be repeated, and lines that exceed placeLines.
func (p *Cursor) prune() {
	for p.recent[p.old].second < p.from() {
		p.old++
	}
	for ; len(p.recent)-p.old > placeLines; p.old++ {
		p.dropped = max(p.dropped, p.recent[p.old].second)
	}
	if p.old > len(p.recent)/2 {
		p.recent, p.old = slices.Delete(p.recent, 0, p.old), 0
	}
}

func (p *Cursor) from() int64 { return p.newest - int64(maxSkew/time.Second) }

// Empty reports whether no line has arrived yet.
func (p *Cursor) Empty() bool { return p.run == 0 }

// Since returns the whole second from which to resume the log; zero at the beginning.
func (p *Cursor) Since() time.Time {
	if p.Empty() {
		return time.Time{}
	}
	return time.Unix(p.from(), 0).UTC()
}

// Latest returns the time of the newest line; zero at the beginning.
func (p *Cursor) Latest() time.Time { return p.latest }

// Last returns the last line, and the number of equal lines at the end.
func (p *Cursor) Last() (sum uint64, run int) { return p.last, p.run }

// Has reports whether a line is among the remembered lines.
func (p *Cursor) Has(sum uint64) bool {
	return slices.ContainsFunc(p.recent[p.old:], func(m lineKey) bool { return m.sum == sum })
}

// Deduper returns a Deduper for a log that is resumed from Since.
func (p *Cursor) Deduper() *Deduper {
	r := &Deduper{latest: p.latest, from: p.from(), lost: !p.Empty() && p.dropped >= p.from()}
	if len(p.recent) > 0 {
		r.left = make(map[uint64]int, len(p.recent))
	}
	for _, m := range p.recent[p.old:] {
		r.left[m.sum]++
	}
	return r
}

// A Deduper recognises the repeated lines of a resumed log.
type Deduper struct {
	left   map[uint64]int
	from   int64
	latest time.Time
	lost   bool // older lines were not remembered; they come before the first remembered line
}

// Has reports whether a line is a repetition. The caller calls Has once for each line, in
// order.
func (r *Deduper) Has(at time.Time, sum uint64) bool {
	if len(r.left) == 0 {
		return false
	}
	if r.left[sum] > 0 {
		r.left[sum]--
		if r.left[sum] == 0 {
			delete(r.left, sum)
		}
		r.lost = false
		return true
	}
	if r.lost && !at.After(r.latest) {
		return true
	}
	r.lost = false
	if at.Unix() > r.from+2*int64(maxSkew/time.Second)+1 {
		r.left = nil // lines that were not repeated by now will not be repeated
	}
	return false
}
