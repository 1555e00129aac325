package groups

import (
	"cmp"
	"slices"
	"time"
)

const (
	maxEnds = 32 // ends that a pace holds
	minEnds = 5  // ends that an estimate needs
)

// A pace holds the latest ends of the tasks of a group, in the order of the log. Tasks that were
// stopped do not count.
type pace []end

// An end is the end of one task.
type end struct {
	seq, order     uint64
	started, ended time.Time
}

func (e end) compare(f end) int {
	return cmp.Or(cmp.Compare(e.seq, f.seq), cmp.Compare(e.order, f.order))
}

// add adds the end of a task, unless the pace has the end already or holds only later ends.
func (p *pace) add(e end) {
	at, found := slices.BinarySearchFunc(*p, e, end.compare)
	switch {
	case found, at == 0 && len(*p) == maxEnds:
		return
	case len(*p) == maxEnds:
		at--
		*p = slices.Delete(*p, 0, 1)
	}
	*p = slices.Insert(*p, at, e)
}

// estimate returns when the remaining tasks will have ended if tasks go on to end as they did. The
// first task began at started, and ended tasks have ended since. The zero time means unknown.
//
// A single measure would mislead: tasks that run side by side end together, so that the times
// between the latest ends are far too short; and a group that got new tasks after a pause has a
// mean since its beginning that is far too long. The estimate counts from the beginning of the
// latest tasks, or from the beginning of the group if that is faster.
func (p pace) estimate(remaining, ended int, started time.Time) time.Time {
	if len(p) < minEnds || remaining == 0 || ended == 0 || started.IsZero() {
		return time.Time{}
	}
	last, begin := p[len(p)-1].ended, time.Time{}
	for _, e := range p {
		if !e.started.IsZero() && (begin.IsZero() || e.started.Before(begin)) {
			begin = e.started
		}
	}
	each := last.Sub(started).Seconds() / float64(ended)
	if !begin.IsZero() {
		each = min(each, last.Sub(begin).Seconds()/float64(len(p)))
	}
	const longest = 10 * 365 * 24 * 3600 // seconds
	if left := each * float64(remaining); left > 0 && left < longest {
		return last.Add(time.Duration(left * float64(time.Second))).Round(time.Second)
	}
	return time.Time{}
}
