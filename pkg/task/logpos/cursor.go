// Package logpos defines positions in the logs of tasks. A Cursor is the position up to which a
// container log was read, and recognises repeated lines after a reconnect. A Range names lines by
// their numbers, and a Part is the lines that a response contains.
package logpos

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
func (c *Cursor) SkipPrefix() { c.skipPrefix = true }

// Advance moves the position after a line.
func (c *Cursor) Advance(at time.Time, sum uint64) {
	if c.run > 0 && c.last == sum {
		c.run++
	} else {
		c.last, c.run = sum, 1
	}
	second := at.Unix()
	if c.skipPrefix {
		c.skipPrefix, c.dropped = false, second+int64(maxSkew/time.Second)
	}
	if second > c.newest || c.newest == 0 {
		c.newest = second
	}
	if at.After(c.latest) {
		c.latest = at
	}
	c.recent = append(c.recent, lineKey{second, sum})
	c.prune()
}

// prune forgets lines that are too old to be repeated, and lines that exceed placeLines.
func (c *Cursor) prune() {
	for c.recent[c.old].second < c.from() {
		c.old++
	}
	for ; len(c.recent)-c.old > placeLines; c.old++ {
		c.dropped = max(c.dropped, c.recent[c.old].second)
	}
	if c.old > len(c.recent)/2 {
		c.recent, c.old = slices.Delete(c.recent, 0, c.old), 0
	}
}

func (c *Cursor) from() int64 { return c.newest - int64(maxSkew/time.Second) }

// Empty reports whether no line has arrived yet.
func (c *Cursor) Empty() bool { return c.run == 0 }

// Since returns the whole second from which to resume the log; zero at the beginning.
func (c *Cursor) Since() time.Time {
	if c.Empty() {
		return time.Time{}
	}
	return time.Unix(c.from(), 0).UTC()
}

// Latest returns the time of the newest line; zero at the beginning.
func (c *Cursor) Latest() time.Time { return c.latest }

// Last returns the last line, and the number of equal lines at the end.
func (c *Cursor) Last() (sum uint64, run int) { return c.last, c.run }

// Has reports whether a line is among the remembered lines.
func (c *Cursor) Has(sum uint64) bool {
	return slices.ContainsFunc(c.recent[c.old:], func(m lineKey) bool { return m.sum == sum })
}

// Deduper returns a Deduper for a log that is resumed from Since.
func (c *Cursor) Deduper() *Deduper {
	d := &Deduper{latest: c.latest, from: c.from(), lost: !c.Empty() && c.dropped >= c.from()}
	if len(c.recent) > 0 {
		d.left = make(map[uint64]int, len(c.recent))
	}
	for _, m := range c.recent[c.old:] {
		d.left[m.sum]++
	}
	return d
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
func (d *Deduper) Has(at time.Time, sum uint64) bool {
	if len(d.left) == 0 {
		return false
	}
	if d.left[sum] > 0 {
		d.left[sum]--
		if d.left[sum] == 0 {
			delete(d.left, sum)
		}
		d.lost = false
		return true
	}
	if d.lost && !at.After(d.latest) {
		return true
	}
	d.lost = false
	if at.Unix() > d.from+2*int64(maxSkew/time.Second)+1 {
		d.left = nil // lines that were not repeated by now will not be repeated
	}
	return false
}
