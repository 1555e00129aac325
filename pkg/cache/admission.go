package cache

import (
	"fmt"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// maxBlocked bounds the admitted tasks of one user that cannot be created at present, for
// example because a quota is exceeded. Blocked tasks do not count towards the window;
// otherwise they would fill the window for all users.
const maxBlocked = 64

// An admission decides which tasks get Jobs next. An admission has no lock: see guarded.
type admission struct {
	limits        task.AdmissionLimits
	state         *state.State
	queue         *fairQueue
	finished      finished
	unschedulable map[string]int // pods for which the scheduler finds no node, by user
}

func newAdmission(s *state.State, changed chan struct{}) *admission {
	return &admission{state: s, queue: newFairQueue(changed), unschedulable: map[string]int{}}
}

// Backlog decides which tasks are next to get Jobs.
type Backlog struct {
	model   *guarded
	changed <-chan struct{}
}

// Limits returns the limits that Store.SetAdmissionLimits has set.
func (b Backlog) Limits() task.AdmissionLimits {
	b.model.mu.RLock()
	defer b.model.mu.RUnlock()
	return b.model.admission.limits
}

// AwaitsAdmission reports whether a task waits for its admission and for nothing else.
func (b Backlog) AwaitsAdmission(id string) bool {
	b.model.mu.RLock()
	defer b.model.mu.RUnlock()
	item := b.model.tasks[id]
	return item != nil && item.stage == stageWaiting
}

// BacklogChanged returns a channel that receives a token when a further task may be admitted.
func (b Backlog) BacklogChanged() <-chan struct{} { return b.changed }

// Admission returns the tasks to admit and the finished tasks to evict next. Admission admits
// tasks until window tasks are admitted and not created yet. The window bounds how long a task
// of a new user waits behind tasks that were submitted earlier.
func (b Backlog) Admission(window int) task.Admission {
	b.model.mu.RLock()
	defer b.model.mu.RUnlock()
	c := b.model.admission.chooser(window - len(b.model.admission.queue.creating))
	c.choose()
	c.evict()
	return c.done()
}

// FirstAdmission admits the first task of each user who has no task that is admitted and not
// created yet. FirstAdmission may exceed the window, up to 2*window tasks that are admitted
// and not created yet.
func (b Backlog) FirstAdmission(window int) task.Admission {
	b.model.mu.RLock()
	defer b.model.mu.RUnlock()
	c := b.model.admission.chooser(2*window - len(b.model.admission.queue.creating))
	c.chooseFirst()
	return c.done()
}

// OldestFinished returns the finished tasks that ended first. The Jobs of these tasks are at
// least as many as the argument jobs and as the tasks that wait for a quota, or all that
// exist.
func (b Backlog) OldestFinished(jobs int) (all []task.Key) {
	b.model.mu.RLock()
	defer b.model.mu.RUnlock()
	waiting := 0
	for _, tasks := range b.model.admission.queue.blocked {
		waiting += tasks
	}
	jobs = max(jobs, waiting)
	for _, t := range b.model.admission.finished.tasks {
		if jobs <= 0 {
			break
		}
		all = append(all, task.Key{Kind: task.KindTask, ID: t.ID})
		jobs -= t.NumNodes()
	}
	return all
}

func (a *admission) chooser(slots int) *chooser {
	return &chooser{admission: a, slots: slots, jobs: a.state.Jobs(), chosen: map[string]int{}, missingJobsOf: map[string]int{}}
}

func (c *chooser) done() task.Admission {
	c.Next.Limits = c.limits.JobLimits
	c.Shared = len(c.Next.IDs) > 0 && c.queue.users() > 1
	return c.Admission
}

// A chooser walks through the backlog in its order.
type chooser struct {
	*admission
	task.Admission

	slots         int            // tasks that may still be considered
	jobs          int            // existing Jobs and Jobs of the chosen tasks
	chosen        map[string]int // Jobs of the chosen tasks, by user
	missingJobs   int            // Jobs of the tasks that are next, after the total limit was reached
	missingJobsOf map[string]int // Jobs to delete before the user's next tasks are within the user's limit
}

func (c *chooser) choose() {
	if c.slots <= 0 || c.queue.size == 0 {
		return
	}
	users, next := slices.Clone(c.queue.order), map[string]int{}
	for c.slots > 0 && len(users) > 0 {
		user := users[0]
		users = users[1:]
		line := c.queue.userQueues[user][next[user]:]
		if len(line) == 0 || !c.consider(user, line) {
			continue
		}
		next[user]++
		c.slots--
		users = append(users, user)
	}
}

// chooseFirst chooses the first task of each user who has no task in creation, as long as the
// limits allow the task.
func (c *chooser) chooseFirst() {
	if c.slots <= 0 || c.queue.size == 0 {
		return
	}
	creating := map[string]bool{}
	for _, i := range c.queue.creating {
		creating[i.record.User()] = true
	}
	for _, user := range c.queue.order {
		first := c.queue.userQueues[user][0].record
		switch {
		case c.isHeldBack(user), c.limits.ExceedsPerUser(c.state.JobsOf(user) + first.JobsToAdmit()):
		case c.slots == 0, c.limits.ExceedsTotal(c.jobs + first.JobsToAdmit()): // no task overtakes a large task
			return
		case !creating[user]:
			c.admit(user, first)
			c.slots--
		}
	}
}

func (c *chooser) admit(user string, t *state.CompactRecord) {
	c.Next.IDs = append(c.Next.IDs, t.ID)
	c.jobs += t.JobsToAdmit()
	c.chosen[user] += t.JobsToAdmit()
}

// consider decides about the first task of a user's queue, and returns false if the user has
// no further turn.
func (c *chooser) consider(user string, line []*taskItem) bool {
	t, limits := line[0].record, c.limits
	nodes := t.JobsToAdmit()
	switch {
	case c.isHeldBack(user):
		return false
	case limits.ExceedsPerUser(c.state.JobsOf(user) + c.chosen[user] + nodes):
		c.addMissingJobs(user, line)
		return false
	case c.missingJobs > 0 || limits.ExceedsTotal(c.jobs+nodes):
		if c.missingJobs += nodes; c.jobs+c.missingJobs-limits.Total > c.finished.jobs { // the task waits for Jobs that are not finished
			c.missingJobs -= nodes
			c.slots = 0
			return false
		}
	default:
		c.admit(user, t)
	}
	return true
}

// isHeldBack reports whether no task of a user is admitted, regardless of the number of Jobs.
func (a *admission) isHeldBack(user string) bool {
	return a.queue.blocked[user] >= maxBlocked || a.exceedsUnschedulable(user)
}

func (a *admission) exceedsUnschedulable(user string) bool {
	return a.limits.Unschedulable > 0 && a.unschedulable[user] >= a.limits.Unschedulable
}

// addMissingJobs records how many finished Jobs of a user must be deleted before the user's
// next tasks may be admitted, as many as there are slots.
func (c *chooser) addMissingJobs(user string, line []*taskItem) {
	jobs := c.state.JobsOf(user) + c.chosen[user]
	for _, i := range line[:min(len(line), c.slots)] {
		jobs += i.record.JobsToAdmit()
		missing := jobs - c.limits.PerUser
		if missing > c.finished.byUser[user] {
			return
		}
		c.missingJobsOf[user] = missing
	}
}

// evict chooses the finished tasks whose Jobs must be deleted, oldest first.
func (c *chooser) evict() {
	missing := 0
	if c.missingJobs > 0 {
		missing = c.jobs + c.missingJobs - c.limits.Total
	}
	for _, t := range c.finished.tasks {
		if missing <= 0 && len(c.missingJobsOf) == 0 {
			return
		}
		user := t.User()
		of, needed := c.missingJobsOf[user]
		if missing <= 0 && !needed {
			continue
		}
		c.Evict = append(c.Evict, task.Key{Kind: task.KindTask, ID: t.ID})
		missing -= t.NumNodes()
		if of -= t.NumNodes(); of > 0 {
			c.missingJobsOf[user] = of
		} else {
			delete(c.missingJobsOf, user)
		}
	}
}

// recordChange records the changes of a task's record that matter to the backlog.
func (a *admission) recordChange(before, now *state.CompactRecord) {
	if before != nil && !before.Applied() && now.Applied() {
		a.queue.recordCreation(now.UpdatedAt())
	}
	a.finished.update(before, now)
	if a.queue.size > 0 {
		a.queue.bumpRevision()
	}
}

// update moves a task to its stage of the backlog, and counts its unschedulable pods.
func (a *admission) update(i *taskItem, v *task.View) {
	if to := stageOf(v, a.limits); to != i.stage {
		a.queue.remove(i)
		if to != stageNone {
			a.queue.add(i, to)
		}
	}
	a.countUnschedulable(i, v)
}

// countUnschedulable counts the pods of a task for which the scheduler finds no node, and adds
// them to the count of the user.
func (a *admission) countUnschedulable(i *taskItem, v *task.View) {
	count := uint16(0)
	for _, pod := range v.Pods {
		if pod != nil && !v.Phase.Over() && pod.Phase == task.Pending && pod.Host == "" && pod.Reason == corev1.PodReasonUnschedulable {
			count++
		}
	}
	if count == i.unschedulable {
		return
	}
	user := i.record.User()
	if a.unschedulable[user] += int(count) - int(i.unschedulable); a.unschedulable[user] == 0 {
		delete(a.unschedulable, user)
	}
	i.unschedulable = count
	a.queue.bumpRevision()
}

// whyWaiting returns why the Jobs of a task at a position of the backlog are not created yet,
// and how long the task will wait.
func (a *admission) whyWaiting(i *taskItem, position int) (reason, message string) {
	message = a.queue.describe(position)
	if i.stage != stageWaiting {
		return task.ReasonBacklog, message
	}
	user, limits := i.record.User(), a.limits
	reason = a.waitingReason(user)
	switch {
	case reason == task.ReasonMaxUnplaced:
		message += fmt.Sprintf("; %d of your pods find no machine, and new pods wait until fewer than %d do", a.unschedulable[user], limits.Unschedulable)
	case reason == task.ReasonMaxUserJobs:
		message += fmt.Sprintf("; you have %d of at most %d Jobs", a.state.JobsOf(user), limits.PerUser)
	case reason == task.ReasonMaxJobs:
		message += fmt.Sprintf("; %d of at most %d Jobs exist", a.state.Jobs(), limits.Total)
	case a.queue.blocked[user] >= maxBlocked:
		message += fmt.Sprintf("; %d of your earlier tasks cannot be created at present, for the reasons in their status", a.queue.blocked[user])
	}
	return reason, message
}

// waitingReason returns why the tasks of a user wait for admission.
func (a *admission) waitingReason(user string) string {
	switch {
	case a.exceedsUnschedulable(user):
		return task.ReasonMaxUnplaced
	case a.queue.blocked[user] >= maxBlocked:
		return task.ReasonBacklog
	case a.exceedsPerUser(user):
		return task.ReasonMaxUserJobs
	case a.exceedsTotal():
		return task.ReasonMaxJobs
	}
	return task.ReasonBacklog
}

// exceedsPerUser reports whether the next task of a user exceeds the limit of the user.
func (a *admission) exceedsPerUser(user string) bool {
	return a.limits.ExceedsPerUser(a.state.JobsOf(user) + a.queue.userQueues[user][0].record.JobsToAdmit())
}

// exceedsTotal reports whether the task that is next exceeds the total limit.
func (a *admission) exceedsTotal() bool {
	for _, user := range a.queue.order {
		if !a.isHeldBack(user) && !a.exceedsPerUser(user) {
			return a.limits.ExceedsTotal(a.state.Jobs() + a.queue.userQueues[user][0].record.JobsToAdmit())
		}
	}
	return false
}

// oldest returns the time since which the longest waiting task waits for its Jobs. Tasks that
// a limit holds back do not count; ok is false if no other task waits. An admitted task waits
// since its admission. Within a user's queue, tasks of one priority are in the order of
// submission, so oldest looks at the first task of each priority.
func (a *admission) oldest() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, i := range a.queue.creating {
		earlier(i.record.UpdatedAt())
	}
	if a.exceedsTotal() {
		return at, ok
	}
	for user, line := range a.queue.userQueues {
		for i := 0; i < len(line) && !a.isHeldBack(user) && !a.exceedsPerUser(user); {
			since, later := line[i].record.WaitsSince()
			if earlier(since); later { // tasks behind this one may have waited longer
				i++
				continue
			}
			priority := line[i].priority
			i += sort.Search(len(line)-i, func(n int) bool { return line[i+n].priority < priority })
		}
	}
	return at, ok
}
