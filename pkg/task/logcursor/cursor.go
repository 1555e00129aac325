// Package logcursor remembers how far the log of a container was read, and tells lines
// that came before from new ones.
package logcursor

import (
	"hash/maphash"
	"slices"
	"time"
)

const (
	// maxSkew is how far a line may stand behind a younger one. The runtime
	// reads a container's two streams independently and stamps a line when it has
	// read it whole, so that lines stand out of order by as long as a process may
	// be held up.
	maxSkew = time.Second

	placeLines = 4096 // of the newest lines that a place remembers at most
)

var lineSeed = maphash.MakeSeed()

// Sum names a line of a log, its time included, within this process.
func Sum(line []byte) uint64 { return maphash.Bytes(lineSeed, line) }

// A Cursor is how far a log was read. Kubernetes finds a place of a log by the
// second alone, so whoever reads on gets lines again that came before. A place
// remembers the newest lines, not only their times: lines of one moment, lines
// out of order and a log that was rotated in between are told apart all the
// same. The zero Cursor is the beginning.
type Cursor struct {
	recent     []lineKey // the newest lines, in the order in which they came
	old        int       // so many of them are forgotten
	newest     int64     // Unix second
	latest     time.Time
	dropped    int64 // newest second of a line that there was no room to remember
	skipPrefix bool
	last       uint64
	run        int // how many lines like the last one came one after the other
}

type lineKey struct {
	second int64
	sum    uint64
}

// SkipPrefix says of a place at which no line came yet that it is somewhere within
// the log: what stands before its first line is not to come at all.
func (p *Cursor) SkipPrefix() { p.skipPrefix = true }

// Advance moves the place behind a line.
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

// prune forgets what is too old to come again, and what there is no room for.
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

// Empty reports whether no line came yet.
func (p *Cursor) Empty() bool { return p.run == 0 }

// Since returns the whole second from which the log is to be read on; it is zero
// at the beginning.
func (p *Cursor) Since() time.Time {
	if p.Empty() {
		return time.Time{}
	}
	return time.Unix(p.from(), 0).UTC()
}

// Latest returns the time of the newest line; it is zero at the beginning.
func (p *Cursor) Latest() time.Time { return p.latest }

// Last returns the last line, and how many like it came one after the other.
func (p *Cursor) Last() (sum uint64, run int) { return p.last, p.run }

// Has reports whether a line is among the newest that came.
func (p *Cursor) Has(sum uint64) bool {
	return slices.ContainsFunc(p.recent[p.old:], func(m lineKey) bool { return m.sum == sum })
}

// Deduper returns what tells the lines that came before from the new ones, of a
// log that is read on from Since.
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

// Deduper are the lines that may come again.
type Deduper struct {
	left   map[uint64]int
	from   int64
	latest time.Time
	lost   bool // older ones are not remembered: they come before the first that is
}

// Has reports whether a line came before. It is to be asked once of each line,
// in order.
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
		r.left = nil // what did not come again by now does not any more
	}
	return false
}
