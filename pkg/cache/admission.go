package cache

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// maxBlocked is how many tasks of one user may be admitted that cannot be created
// at present, a quota being exceeded for example. They take no place of the window,
// or they would fill it for everybody.
const maxBlocked = 64

// Limit sets which tasks are admitted. It is to be called before anything is put
// into the store.
func (p *Store) Limit(l task.AdmissionLimits) { p.limits = l }

// Limits returns the limits that were set.
func (p *Store) Limits() task.AdmissionLimits { return p.limits }

// AwaitsAdmission reports whether a task has nothing to wait for but its admission,
// which is a change of it.
func (p *Store) AwaitsAdmission(id string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.tasks[id]
	return item != nil && item.stage == stageWaiting
}

// BacklogChanged returns a channel that holds a token once another task may be
// admitted than before.
func (p *Store) BacklogChanged() <-chan struct{} { return p.backlogChanged }

// Admission returns what has to be done next so that tasks get their Jobs. It
// admits so many tasks that at most window of them are admitted and not created
// yet: a task that comes later does not wait for all that came before it.
func (p *Store) Admission(window int) task.Admission {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.chooser(window - len(p.backlog.creating))
	c.choose()
	c.evict()
	return c.done()
}

// FirstAdmission returns the admission of the first tasks of those users who have no
// task that is admitted and not created yet. It admits them beyond the window, as long
// as at most twice as many tasks as it has places are admitted and not created yet.
func (p *Store) FirstAdmission(window int) task.Admission {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.chooser(2*window - len(p.backlog.creating))
	c.chooseFirst()
	return c.done()
}

func (p *Store) chooser(slots int) *chooser {
	return &chooser{Store: p, slots: slots, jobs: p.state.Jobs(), chosen: map[string]int{}, missingJobsOf: map[string]int{}}
}

func (c *chooser) done() task.Admission {
	c.Next.Limits = c.limits.JobLimits
	c.Shared = len(c.Next.IDs) > 0 && c.backlog.users() > 1
	return c.Admission
}

// A chooser goes through the backlog in its order.
type chooser struct {
	*Store
	task.Admission

	slots         int            // tasks that may be looked at still
	jobs          int            // that exist, with those of the chosen tasks
	chosen        map[string]int // Jobs of the chosen tasks, by user
	missingJobs   int            // Jobs of those that are next, once the total is reached
	missingJobsOf map[string]int // Jobs that have to go before a user's next tasks stay within his limit
}

func (c *chooser) choose() {
	if c.slots <= 0 || c.backlog.size == 0 {
		return
	}
	users, next := slices.Clone(c.backlog.order), map[string]int{}
	for c.slots > 0 && len(users) > 0 {
		user := users[0]
		users = users[1:]
		line := c.backlog.userQueues[user][next[user]:]
		if len(line) == 0 || !c.consider(user, line) {
			continue
		}
		next[user]++
		c.slots--
		users = append(users, user)
	}
}

// chooseFirst chooses of each user who has no task under way the first one, if it fits
// the limits as they are.
func (c *chooser) chooseFirst() {
	if c.slots <= 0 || c.backlog.size == 0 {
		return
	}
	creating := map[string]bool{}
	for _, i := range c.backlog.creating {
		creating[i.record.User()] = true
	}
	for _, user := range c.backlog.order {
		first := c.backlog.userQueues[user][0].record
		switch {
		case c.isHeldBack(user), c.limits.ExceedsPerUser(c.state.JobsOf(user) + first.NumNodes()):
		case c.slots == 0, c.limits.ExceedsTotal(c.jobs + first.NumNodes()): // nobody goes past a large task
			return
		case !creating[user]:
			c.admit(user, first)
			c.slots--
		}
	}
}

func (c *chooser) admit(user string, t *state.CompactRecord) {
	c.Next.IDs = append(c.Next.IDs, t.ID)
	c.jobs += t.NumNodes()
	c.chosen[user] += t.NumNodes()
}

// consider looks at the first task of a user's line; it returns false if the user has
// no turn any more.
func (c *chooser) consider(user string, line []*taskItem) bool {
	t, limits := line[0].record, c.limits
	nodes := t.NumNodes()
	switch {
	case c.isHeldBack(user):
		return false
	case limits.ExceedsPerUser(c.state.JobsOf(user) + c.chosen[user] + nodes):
		c.addMissingJobs(user, line)
		return false
	case c.missingJobs > 0 || limits.ExceedsTotal(c.jobs+nodes):
		if c.missingJobs += nodes; c.jobs+c.missingJobs-limits.Total > c.finished.jobs { // it waits for Jobs that are not finished
			c.missingJobs -= nodes
			c.slots = 0
			return false
		}
	default:
		c.admit(user, t)
	}
	return true
}

// isHeldBack reports whether no task of a user is admitted, however few Jobs exist.
func (p *Store) isHeldBack(user string) bool {
	return p.backlog.blocked[user] >= maxBlocked || p.exceedsUnschedulable(user)
}

func (p *Store) exceedsUnschedulable(user string) bool {
	return p.limits.Unschedulable > 0 && p.unschedulable[user] >= p.limits.Unschedulable
}

// addMissingJobs notes how many finished Jobs of a user have to go before as many of
// his next tasks may be admitted as there is room for.
func (c *chooser) addMissingJobs(user string, line []*taskItem) {
	jobs := c.state.JobsOf(user) + c.chosen[user]
	for _, i := range line[:min(len(line), c.slots)] {
		jobs += i.record.NumNodes()
		missing := jobs - c.limits.PerUser
		if missing > c.finished.byUser[user] {
			return
		}
		c.missingJobsOf[user] = missing
	}
}

// evict chooses the finished tasks whose Jobs have to go, the oldest first.
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

// countUnschedulable counts the pods of a task for which the scheduler finds no
// node, as its user's.
func (p *Store) countUnschedulable(i *taskItem, v *task.View) {
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
	if p.unschedulable[user] += int(count) - int(i.unschedulable); p.unschedulable[user] == 0 {
		delete(p.unschedulable, user)
	}
	i.unschedulable = count
	p.backlog.bumpRevision()
}

// whyWaiting says why the Jobs of a task at this position of the backlog are still
// to be created, and how long it takes.
func (p *Store) whyWaiting(i *taskItem, position int) (reason, message string) {
	message = p.backlog.describe(position)
	if i.stage != stageWaiting {
		return task.ReasonBacklog, message
	}
	user, limits := i.record.User(), p.limits
	switch {
	case p.exceedsUnschedulable(user):
		return task.ReasonMaxUnplaced, fmt.Sprintf("%s; %d of your pods find no machine, and new pods wait until fewer than %d do", message, p.unschedulable[user], limits.Unschedulable)
	case p.backlog.blocked[user] >= maxBlocked:
		return task.ReasonBacklog, fmt.Sprintf("%s; %d of your earlier tasks cannot be created at present, for the reasons in their status", message, p.backlog.blocked[user])
	case p.exceedsPerUser(user):
		return task.ReasonMaxUserJobs, fmt.Sprintf("%s; you have %d of at most %d Jobs", message, p.state.JobsOf(user), limits.PerUser)
	case p.exceedsTotal():
		return task.ReasonMaxJobs, fmt.Sprintf("%s; %d of at most %d Jobs exist", message, p.state.Jobs(), limits.Total)
	}
	return task.ReasonBacklog, message
}

// exceedsPerUser reports whether the next task of a user does not fit his limit.
func (p *Store) exceedsPerUser(user string) bool {
	return p.limits.ExceedsPerUser(p.state.JobsOf(user) + p.backlog.userQueues[user][0].record.NumNodes())
}

// exceedsTotal reports whether the task that is next does not fit the total.
func (p *Store) exceedsTotal() bool {
	for _, user := range p.backlog.order {
		if !p.isHeldBack(user) && !p.exceedsPerUser(user) {
			return p.limits.ExceedsTotal(p.state.Jobs() + p.backlog.userQueues[user][0].record.NumNodes())
		}
	}
	return false
}
