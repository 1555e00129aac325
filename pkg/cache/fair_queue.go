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
func (q *fairQueue) bumpRevision() {
	q.revision++
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

func (q *fairQueue) add(i *taskItem, to backlogStage) {
	q.flush() // i may be one of the pending removals
	user := i.record.User()
	switch to {
	case stageWaiting:
		line := q.userQueues[user]
		if len(line) == 0 {
			q.order = append(q.order, user)
		}
		at, _ := slices.BinarySearchFunc(line, i, compareTurn)
		q.userQueues[user] = slices.Insert(line, at, i)
		q.size++
	case stageCreating:
		q.creating = append(q.creating, i)
		q.endTurn(user)
	case stageBlocked:
		q.blocked[user]++
	}
	i.stage = to
	q.bumpRevision()
}

// endTurn moves a user to the end of the order.
func (q *fairQueue) endTurn(user string) {
	if at := slices.Index(q.order, user); at >= 0 {
		q.order = append(slices.Delete(q.order, at, at+1), user)
	}
}

// remove removes a task from the backlog.
func (q *fairQueue) remove(i *taskItem) {
	if i.stage == stageNone {
		return
	}
	switch user := i.record.User(); i.stage {
	case stageWaiting:
		q.removeWaiting(i)
	case stageCreating:
		if at := slices.Index(q.creating, i); at >= 0 {
			q.creating = slices.Delete(q.creating, at, at+1)
		}
	case stageBlocked:
		if q.blocked[user]--; q.blocked[user] == 0 {
			delete(q.blocked, user)
		}
	}
	i.stage = stageNone
	q.bumpRevision()
	if q.length() == 0 {
		q.creationTimes = nil
	}
}

// removeWaiting removes a task from its user's queue, at once or at the next endBatch.
func (q *fairQueue) removeWaiting(i *taskItem) {
	q.size--
	q.removals = append(q.removals, i)
	if !q.batching {
		q.flush()
	}
}

// beginBatch delays the removals from user queues until endBatch, if there is more than one
// change: an entry may stop thousands of tasks of one user, and one pass removes all of them.
func (q *fairQueue) beginBatch(changes int) { q.batching = changes > 1 }

// endBatch performs the removals since beginBatch.
func (q *fairQueue) endBatch() {
	q.flush()
	q.batching = false
}

// flush removes the pending removals from their user queues.
func (q *fairQueue) flush() {
	if len(q.removals) == 0 {
		return
	}
	of := map[string][]*taskItem{}
	for _, i := range q.removals {
		of[i.record.User()] = append(of[i.record.User()], i)
	}
	for user, some := range of {
		q.userQueues[user] = sorted.Remove(q.userQueues[user], some, compareTurn)
		if len(q.userQueues[user]) == 0 {
			delete(q.userQueues, user)
			q.order = slices.DeleteFunc(q.order, func(u string) bool { return u == user })
		}
	}
	q.removals = nil
}

// length returns how many tasks have a position in the backlog.
func (q *fairQueue) length() int { return q.size + len(q.creating) }

// lengthOfUser returns how many tasks of a user have a position in the backlog.
func (q *fairQueue) lengthOfUser(user string) int {
	n := len(q.userQueues[user])
	for _, i := range q.creating {
		if i.record.User() == user {
			n++
		}
	}
	return n
}

// users returns how many users have a task in the backlog.
func (q *fairQueue) users() int {
	creating := map[string]bool{}
	for _, i := range q.creating {
		if user := i.record.User(); len(q.userQueues[user]) == 0 {
			creating[user] = true
		}
	}
	return len(q.userQueues) + len(creating)
}

func compareTurn(a, b *taskItem) int {
	return task.Turn{Priority: a.priority, Order: a.record.Order}.Compare(task.Turn{Priority: b.priority, Order: b.record.Order})
}

// recordCreation records that the Jobs of a task were created.
func (q *fairQueue) recordCreation(at time.Time) {
	q.bumpRevision()
	if n := len(q.creationTimes); n > 0 && (at.Before(q.creationTimes[n-1]) || at.Sub(q.creationTimes[n-1]) > time.Hour) {
		q.creationTimes = nil // after a jump of a clock or a long pause the times give no rate
	}
	if q.creationTimes = append(q.creationTimes, at); len(q.creationTimes) > 2*maxCreationTimes {
		q.creationTimes = slices.Clone(q.creationTimes[maxCreationTimes:])
	}
}

// position returns the position of a task in the backlog, from 1. position assumes that every
// user who waits has one turn in each round.
func (q *fairQueue) position(i *taskItem) int {
	if i.stage == stageCreating {
		return slices.Index(q.creating, i) + 1
	}
	owner := i.record.User()
	ahead, _ := slices.BinarySearchFunc(q.userQueues[owner], i, compareTurn)
	place := len(q.creating) + ahead + 1
	for user, line := range q.userQueues {
		if user != owner {
			place += min(len(line), ahead)
		}
	}
	return place
}

// rate returns how many tasks were created a second recently, 0 if too few were created for an
// estimate.
func (q *fairQueue) rate() float64 {
	const minSamples = 5
	last := q.creationTimes[max(len(q.creationTimes)-maxCreationTimes, 0):]
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
func (q *fairQueue) describe(place int) string {
	text := fmt.Sprintf("waiting for its Jobs: number %d of %d in the backlog", place, q.length())
	if rate := q.rate(); rate > 0 {
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
