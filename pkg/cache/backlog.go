package cache

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// A backlog is the tasks whose Jobs are still to be created, as the log has them,
// and how fast they were created of late. The users' lines take turns; in a line
// the highest priority is first, and then what was accepted first. This is the
// order in which tasks are admitted, and the only place that knows it.
type backlog struct {
	lines    map[string][]*taskItem // that wait for their admission, by user, the next one first
	order    []string               // the users who have a line, the next one first
	size     int                    // tasks in all lines
	leaving  []*taskItem            // of the lines: they go with settle
	several  bool                   // more may leave before that
	creating []*taskItem            // that are admitted, in that order
	delayed  map[string]int         // how many tasks of a user are admitted and cannot be created at present
	turns    uint64                 // how often anything changed by which a task waits longer or shorter
	times    []time.Time            // of the last ones that were created since the backlog was empty, by the log's clock
	changed  chan struct{}          // holds one token once there was a change
}

// A place is where in the backlog a task is.
type place uint8

const (
	placeNone     place = iota // its Jobs exist, it is over, it waits for its volumes, or it is too large for the limits
	placeWaiting               // it waits for its admission
	placeCreating              // it is admitted
	placeDelayed               // it is admitted, and cannot be created at present
)

const maxTimes = 512 // that the rate is measured over

func newBacklog(changed chan struct{}) *backlog {
	return &backlog{lines: map[string][]*taskItem{}, delayed: map[string]int{}, changed: changed}
}

func placeOf(v *task.View, l task.AdmissionLimits) place {
	r := v.Record
	switch {
	case r == nil || r.Phase.Over() || r.UIDs != nil:
		return placeNone
	case r.Admitted && r.Reason == "" && len(v.Missing) == 0:
		return placeCreating
	case r.Admitted:
		return placeDelayed
	case len(v.Missing) > 0 || l.TooLarge(r.NumNodes()) != "":
		return placeNone
	}
	return placeWaiting
}

// queue puts a task at its place in the backlog.
func (p *Picture) queue(i *taskItem, v *task.View) {
	if to := placeOf(v, p.limits); to != i.place {
		p.backlog.leave(i)
		p.backlog.join(i, to)
	}
}

// change notes that tasks may have to wait longer or shorter than before.
func (b *backlog) change() {
	b.turns++
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *backlog) join(i *taskItem, to place) {
	b.flush() // it may be one of those that leave
	user := i.kept.User()
	switch to {
	case placeWaiting:
		line := b.lines[user]
		if len(line) == 0 {
			b.order = append(b.order, user)
		}
		at, _ := slices.BinarySearchFunc(line, i, before)
		b.lines[user] = slices.Insert(line, at, i)
		b.size++
	case placeCreating:
		b.creating = append(b.creating, i)
		b.turnOf(user)
	case placeDelayed:
		b.delayed[user]++
	}
	i.place = to
	b.change()
}

// turnOf ends the turn of a user.
func (b *backlog) turnOf(user string) {
	if at := slices.Index(b.order, user); at >= 0 {
		b.order = append(slices.Delete(b.order, at, at+1), user)
	}
}

// leave takes a task out of the backlog.
func (b *backlog) leave(i *taskItem) {
	if i.place == placeNone {
		return
	}
	switch user := i.kept.User(); i.place {
	case placeWaiting:
		b.leaveLine(i)
	case placeCreating:
		if at := slices.Index(b.creating, i); at >= 0 {
			b.creating = slices.Delete(b.creating, at, at+1)
		}
	case placeDelayed:
		if b.delayed[user]--; b.delayed[user] == 0 {
			delete(b.delayed, user)
		}
	}
	i.place = placeNone
	b.change()
	if b.length() == 0 {
		b.times = nil
	}
}

// leaveLine takes a task out of its user's line, at once or with settle.
func (b *backlog) leaveLine(i *taskItem) {
	b.size--
	b.leaving = append(b.leaving, i)
	if !b.several {
		b.flush()
	}
}

// begin has the tasks that leave until settle do so at once, if more than one
// may: an entry may stop thousands of a line.
func (b *backlog) begin(changes int) { b.several = changes > 1 }

// settle ends what begin began.
func (b *backlog) settle() {
	b.flush()
	b.several = false
}

// flush takes the tasks that leave out of their lines.
func (b *backlog) flush() {
	if len(b.leaving) == 0 {
		return
	}
	of := map[string][]*taskItem{}
	for _, i := range b.leaving {
		of[i.kept.User()] = append(of[i.kept.User()], i)
	}
	for user, some := range of {
		b.lines[user] = without(b.lines[user], positions(b.lines[user], some, before))
		if len(b.lines[user]) == 0 {
			delete(b.lines, user)
			b.order = slices.DeleteFunc(b.order, func(u string) bool { return u == user })
		}
	}
	b.leaving = nil
}

// length returns how many tasks have a place that is said.
func (b *backlog) length() int { return b.size + len(b.creating) }

// lengthOf returns how many of them are a user's.
func (b *backlog) lengthOf(user string) int {
	n := len(b.lines[user])
	for _, i := range b.creating {
		if i.kept.User() == user {
			n++
		}
	}
	return n
}

func before(a, b *taskItem) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.kept.Order, b.kept.Order))
}

// applied notes that the Jobs of a task were created.
func (b *backlog) applied(at time.Time) {
	b.change()
	if n := len(b.times); n > 0 && (at.Before(b.times[n-1]) || at.Sub(b.times[n-1]) > time.Hour) {
		b.times = nil // a clock has jumped, or nothing was created for long: neither is a rate
	}
	if b.times = append(b.times, at); len(b.times) > 2*maxTimes {
		b.times = slices.Clone(b.times[maxTimes:])
	}
}

// position returns which one from the front a task is, if every user before it
// in a round has a turn in each.
func (b *backlog) position(i *taskItem) int {
	if i.place == placeCreating {
		return slices.Index(b.creating, i) + 1
	}
	owner := i.kept.User()
	mine, _ := slices.BinarySearchFunc(b.lines[owner], i, before)
	place := len(b.creating) + mine + 1
	for user, line := range b.lines {
		if user != owner {
			place += min(len(line), mine)
		}
	}
	return place
}

// rate returns how many tasks a second were created of late, 0 if too few were
// to say.
func (b *backlog) rate() float64 {
	const few = 5
	last := b.times[max(len(b.times)-maxTimes, 0):]
	if len(last) < few {
		return 0
	}
	took := last[len(last)-1].Sub(last[0])
	if took <= 0 {
		return 0
	}
	return float64(len(last)-1) / took.Seconds()
}

// note says where in the backlog a place is, and how long it takes from there.
func (b *backlog) note(place int) string {
	text := fmt.Sprintf("its Jobs are still to be created: it is number %d of %d", place, b.length())
	if rate := b.rate(); rate > 0 {
		text += fmt.Sprintf(", about %s at %s tasks/s", roughly(float64(place)/rate), brief(rate))
	}
	return text
}

func roughly(seconds float64) string {
	switch {
	case seconds < 1:
		return "1 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}

func brief(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}
