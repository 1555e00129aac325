package cache

import (
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// A fairQueue is the tasks whose Jobs are still to be created, as the log has them,
// and how fast they were created of late. The users' lines take turns; in a line
// the highest priority is first, and then what was accepted first. This is the
// order in which tasks are admitted, and the only place that knows it.
type fairQueue struct {
	userQueues    map[string][]*taskItem // that wait for their admission, by user, the next one first
	order         []string               // the users who have a line, the next one first
	size          int                    // tasks in all lines
	removals      []*taskItem            // of the lines: they go with endBatch
	batching      bool                   // more may leave before that
	creating      []*taskItem            // that are admitted, in that order
	blocked       map[string]int         // how many tasks of a user are admitted and cannot be created at present
	revision      uint64                 // how often anything changed by which a task waits longer or shorter
	creationTimes []time.Time            // of the last ones that were created since the backlog was empty, by the log's clock
	changed       chan struct{}          // holds one token once there was a change
}

// A backlogStage is where in the backlog a task is.
type backlogStage uint8

const (
	stageNone     backlogStage = iota // its Jobs exist, it is over, it waits for its volumes, or it is too large for the limits
	stageWaiting                      // it waits for its admission
	stageCreating                     // it is admitted
	stageBlocked                      // it is admitted, and cannot be created at present
)

const maxCreationTimes = 512 // that the rate is measured over

func newFairQueue(changed chan struct{}) *fairQueue {
	return &fairQueue{userQueues: map[string][]*taskItem{}, blocked: map[string]int{}, changed: changed}
}

func stageOf(v *task.View, l task.AdmissionLimits) backlogStage {
	r := v.Record
	switch {
	case r == nil || r.Phase.Over() || r.UIDs != nil:
		return stageNone
	case r.Admitted && r.Reason == "" && len(v.Missing) == 0:
		return stageCreating
	case r.Admitted:
		return stageBlocked
	case len(v.Missing) > 0 || l.TooLarge(r.NumNodes()) != "":
		return stageNone
	}
	return stageWaiting
}

// bumpRevision notes that tasks may have to wait longer or shorter than before.
func (b *fairQueue) bumpRevision() {
	b.revision++
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *fairQueue) add(i *taskItem, to backlogStage) {
	b.flush() // it may be one of those that leave
	user := i.record.User()
	switch to {
	case stageWaiting:
		line := b.userQueues[user]
		if len(line) == 0 {
			b.order = append(b.order, user)
		}
		at, _ := slices.BinarySearchFunc(line, i, compareTurn)
		b.userQueues[user] = slices.Insert(line, at, i)
		b.size++
	case stageCreating:
		b.creating = append(b.creating, i)
		b.endTurn(user)
	case stageBlocked:
		b.blocked[user]++
	}
	i.stage = to
	b.bumpRevision()
}

// endTurn ends the turn of a user.
func (b *fairQueue) endTurn(user string) {
	if at := slices.Index(b.order, user); at >= 0 {
		b.order = append(slices.Delete(b.order, at, at+1), user)
	}
}

// remove takes a task out of the backlog.
func (b *fairQueue) remove(i *taskItem) {
	if i.stage == stageNone {
		return
	}
	switch user := i.record.User(); i.stage {
	case stageWaiting:
		b.removeWaiting(i)
	case stageCreating:
		if at := slices.Index(b.creating, i); at >= 0 {
			b.creating = slices.Delete(b.creating, at, at+1)
		}
	case stageBlocked:
		if b.blocked[user]--; b.blocked[user] == 0 {
			delete(b.blocked, user)
		}
	}
	i.stage = stageNone
	b.bumpRevision()
	if b.length() == 0 {
		b.creationTimes = nil
	}
}

// removeWaiting takes a task out of its user's line, at once or with endBatch.
func (b *fairQueue) removeWaiting(i *taskItem) {
	b.size--
	b.removals = append(b.removals, i)
	if !b.batching {
		b.flush()
	}
}

// beginBatch has the tasks that leave until endBatch do so at once, if more than one
// may: an entry may stop thousands of a line.
func (b *fairQueue) beginBatch(changes int) { b.batching = changes > 1 }

// endBatch ends what beginBatch began.
func (b *fairQueue) endBatch() {
	b.flush()
	b.batching = false
}

// flush takes the tasks that leave out of their lines.
func (b *fairQueue) flush() {
	if len(b.removals) == 0 {
		return
	}
	of := map[string][]*taskItem{}
	for _, i := range b.removals {
		of[i.record.User()] = append(of[i.record.User()], i)
	}
	for user, some := range of {
		b.userQueues[user] = without(b.userQueues[user], positions(b.userQueues[user], some, compareTurn))
		if len(b.userQueues[user]) == 0 {
			delete(b.userQueues, user)
			b.order = slices.DeleteFunc(b.order, func(u string) bool { return u == user })
		}
	}
	b.removals = nil
}

// length returns how many tasks have a place that is said.
func (b *fairQueue) length() int { return b.size + len(b.creating) }

// lengthOfUser returns how many of them are a user's.
func (b *fairQueue) lengthOfUser(user string) int {
	n := len(b.userQueues[user])
	for _, i := range b.creating {
		if i.record.User() == user {
			n++
		}
	}
	return n
}

// users returns how many users have a task in the backlog.
func (b *fairQueue) users() int {
	creating := map[string]bool{}
	for _, i := range b.creating {
		if user := i.record.User(); len(b.userQueues[user]) == 0 {
			creating[user] = true
		}
	}
	return len(b.userQueues) + len(creating)
}

func compareTurn(a, b *taskItem) int {
	return task.Turn{Priority: a.priority, Order: a.record.Order}.Compare(task.Turn{Priority: b.priority, Order: b.record.Order})
}

// recordCreation notes that the Jobs of a task were created.
func (b *fairQueue) recordCreation(at time.Time) {
	b.bumpRevision()
	if n := len(b.creationTimes); n > 0 && (at.Before(b.creationTimes[n-1]) || at.Sub(b.creationTimes[n-1]) > time.Hour) {
		b.creationTimes = nil // a clock has jumped, or nothing was created for long: neither is a rate
	}
	if b.creationTimes = append(b.creationTimes, at); len(b.creationTimes) > 2*maxCreationTimes {
		b.creationTimes = slices.Clone(b.creationTimes[maxCreationTimes:])
	}
}

// position returns which one from the front a task is, if every user before it
// in a round has a turn in each.
func (b *fairQueue) position(i *taskItem) int {
	if i.stage == stageCreating {
		return slices.Index(b.creating, i) + 1
	}
	owner := i.record.User()
	ahead, _ := slices.BinarySearchFunc(b.userQueues[owner], i, compareTurn)
	place := len(b.creating) + ahead + 1
	for user, line := range b.userQueues {
		if user != owner {
			place += min(len(line), ahead)
		}
	}
	return place
}

// rate returns how many tasks a second were created of late, 0 if too few were
// to say.
func (b *fairQueue) rate() float64 {
	const minSamples = 5
	last := b.creationTimes[max(len(b.creationTimes)-maxCreationTimes, 0):]
	if len(last) < minSamples {
		return 0
	}
	took := last[len(last)-1].Sub(last[0])
	if took <= 0 {
		return 0
	}
	return float64(len(last)-1) / took.Seconds()
}

// describe says where in the backlog a place is, and how long it takes from there.
func (b *fairQueue) describe(place int) string {
	text := fmt.Sprintf("waiting for its Jobs: number %d of %d in the backlog", place, b.length())
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
