package cache

import (
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/cache/sorted"
	"k8s-cli/pkg/task"
)

// A fairQueue holds the tasks in the log whose Jobs are not created yet, and measures how fast
// Jobs were created recently. Users take turns; the tasks of one user go by priority and then
// by age. The fairQueue alone defines the order of admission.
type fairQueue struct {
	userQueues    map[string][]*taskItem // tasks that wait for admission, by user, the next task first
	order         []string               // users with a queue, the next user first
	size          int                    // tasks in all user queues
	removals      []*taskItem            // tasks that endBatch removes from the user queues
	batching      bool                   // collect removals until endBatch
	creating      []*taskItem            // admitted tasks, in the order of admission
	blocked       map[string]int         // number of admitted tasks of a user that cannot be created at present
	revision      uint64                 // counts the changes that affect waiting times
	creationTimes []time.Time            // when the latest tasks were created since the backlog was empty, by the clock of the log
	changed       chan struct{}          // holds one token after a change
}

// A backlogStage is the stage of a task in the backlog.
type backlogStage uint8

const (
	stageNone     backlogStage = iota // the task has Jobs, is over, waits for its volumes or other tasks, or exceeds the limits by itself
	stageWaiting                      // waits for admission
	stageCreating                     // admitted
	stageBlocked                      // admitted, but cannot be created at present
)

const maxCreationTimes = 512 // creations from which the rate is measured

func newFairQueue(changed chan struct{}) *fairQueue {
	return &fairQueue{userQueues: map[string][]*taskItem{}, blocked: map[string]int{}, changed: changed}
}

func stageOf(v *task.View, l task.AdmissionLimits) backlogStage {
	r := v.Record
	switch {
	case r == nil || r.Phase.Over() || r.UIDs != nil || r.Submit.JobGroup.Follows(): // the first task of a job group represents all its tasks
		return stageNone
	case r.Admitted && r.Reason == "" && len(v.Missing) == 0:
		return stageCreating
	case r.Admitted:
		return stageBlocked
	case len(r.WaitsFor) > 0 || r.Held || len(v.Missing) > 0 || l.TooLarge(r.JobsToAdmit()) != "":
		return stageNone
	}
	return stageWaiting
}

// bumpRevision records a change that may affect waiting times.
func (b *fairQueue) bumpRevision() {
	b.revision++
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *fairQueue) add(i *taskItem, to backlogStage) {
	b.flush() // i may be one of the pending removals
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

// endTurn moves a user to the end of the order.
func (b *fairQueue) endTurn(user string) {
	if at := slices.Index(b.order, user); at >= 0 {
		b.order = append(slices.Delete(b.order, at, at+1), user)
	}
}

// remove removes a task from the backlog.
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

// removeWaiting removes a task from its user's queue, at once or at the next endBatch.
func (b *fairQueue) removeWaiting(i *taskItem) {
	b.size--
	b.removals = append(b.removals, i)
	if !b.batching {
		b.flush()
	}
}

// beginBatch delays the removals from user queues until endBatch, if there is more than one
// change: an entry may stop thousands of tasks of one user, and one pass removes all of them.
func (b *fairQueue) beginBatch(changes int) { b.batching = changes > 1 }

// endBatch performs the removals since beginBatch.
func (b *fairQueue) endBatch() {
	b.flush()
	b.batching = false
}

// flush removes the pending removals from their user queues.
func (b *fairQueue) flush() {
	if len(b.removals) == 0 {
		return
	}
	of := map[string][]*taskItem{}
	for _, i := range b.removals {
		of[i.record.User()] = append(of[i.record.User()], i)
	}
	for user, some := range of {
		b.userQueues[user] = sorted.Remove(b.userQueues[user], some, compareTurn)
		if len(b.userQueues[user]) == 0 {
			delete(b.userQueues, user)
			b.order = slices.DeleteFunc(b.order, func(u string) bool { return u == user })
		}
	}
	b.removals = nil
}

// length returns how many tasks have a position in the backlog.
func (b *fairQueue) length() int { return b.size + len(b.creating) }

// lengthOfUser returns how many tasks of a user have a position in the backlog.
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

// recordCreation records that the Jobs of a task were created.
func (b *fairQueue) recordCreation(at time.Time) {
	b.bumpRevision()
	if n := len(b.creationTimes); n > 0 && (at.Before(b.creationTimes[n-1]) || at.Sub(b.creationTimes[n-1]) > time.Hour) {
		b.creationTimes = nil // after a jump of a clock or a long pause the times give no rate
	}
	if b.creationTimes = append(b.creationTimes, at); len(b.creationTimes) > 2*maxCreationTimes {
		b.creationTimes = slices.Clone(b.creationTimes[maxCreationTimes:])
	}
}

// position returns the position of a task in the backlog, from 1. position assumes that every
// user who waits has one turn in each round.
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

// rate returns how many tasks were created a second recently, 0 if too few were created for an
// estimate.
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

// describe returns the position and the estimated waiting time as a sentence.
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
