package cache

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// maxDelayed is how many tasks of one user may be admitted that cannot be created
// at present, a quota being exceeded for example. They take no place of the window,
// or they would fill it for everybody.
const maxDelayed = 64

// Limit sets which tasks are admitted. It is to be called before anything is put
// into the picture.
func (p *Picture) Limit(l task.AdmissionLimits) { p.limits = l }

// Limits returns the limits that were set.
func (p *Picture) Limits() task.AdmissionLimits { return p.limits }

// AwaitsAdmission reports whether a task has nothing to wait for but its admission,
// which is a change of it.
func (p *Picture) AwaitsAdmission(id string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.tasks[id]
	return item != nil && item.place == placeWaiting
}

// BacklogChanged returns a channel that holds a token once another task may be
// admitted than before.
func (p *Picture) BacklogChanged() <-chan struct{} { return p.waits }

// Admission returns what has to be done next so that tasks get their Jobs. It
// admits so many tasks that at most window of them are admitted and not created
// yet: a task that comes later does not wait for all that came before it.
func (p *Picture) Admission(window int) task.Admission {
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
func (p *Picture) FirstAdmission(window int) task.Admission {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := p.chooser(2*window - len(p.backlog.creating))
	c.chooseFirst()
	return c.done()
}

func (p *Picture) chooser(room int) *chooser {
	return &chooser{Picture: p, room: room, jobs: p.state.Jobs(), chosen: map[string]int{}, lackOf: map[string]int{}}
}

func (c *chooser) done() task.Admission {
	c.Next.Limits = c.limits.JobLimits
	c.Shared = len(c.Next.IDs) > 0 && c.backlog.users() > 1
	return c.Admission
}

// A chooser goes through the backlog in its order.
type chooser struct {
	*Picture
	task.Admission

	room   int            // tasks that may be looked at still
	jobs   int            // that exist, with those of the chosen tasks
	chosen map[string]int // Jobs of the chosen tasks, by user
	lack   int            // Jobs of those that are next, once the total is reached
	lackOf map[string]int // Jobs that have to go before a user's next tasks stay within his limit
}

func (c *chooser) choose() {
	if c.room <= 0 || c.backlog.size == 0 {
		return
	}
	users, next := slices.Clone(c.backlog.order), map[string]int{}
	for c.room > 0 && len(users) > 0 {
		user := users[0]
		users = users[1:]
		line := c.backlog.lines[user][next[user]:]
		if len(line) == 0 || !c.take(user, line) {
			continue
		}
		next[user]++
		c.room--
		users = append(users, user)
	}
}

// chooseFirst chooses of each user who has no task under way the first one, if it fits
// the limits as they are.
func (c *chooser) chooseFirst() {
	if c.room <= 0 || c.backlog.size == 0 {
		return
	}
	creating := map[string]bool{}
	for _, i := range c.backlog.creating {
		creating[i.kept.User()] = true
	}
	for _, user := range c.backlog.order {
		first := c.backlog.lines[user][0].kept
		switch {
		case c.isHeldBack(user), c.limits.ExceedsPerUser(c.state.JobsOf(user) + first.NumNodes()):
		case c.room == 0, c.limits.ExceedsTotal(c.jobs + first.NumNodes()): // nobody goes past a large task
			return
		case !creating[user]:
			c.admit(user, first)
			c.room--
		}
	}
}

func (c *chooser) admit(user string, t *state.Task) {
	c.Next.IDs = append(c.Next.IDs, t.ID)
	c.jobs += t.NumNodes()
	c.chosen[user] += t.NumNodes()
}

// take looks at the first task of a user's line; it returns false if the user has
// no turn any more.
func (c *chooser) take(user string, line []*taskItem) bool {
	t, limits := line[0].kept, c.limits
	nodes := t.NumNodes()
	switch {
	case c.isHeldBack(user):
		return false
	case limits.ExceedsPerUser(c.state.JobsOf(user) + c.chosen[user] + nodes):
		c.lackJobsOf(user, line)
		return false
	case c.lack > 0 || limits.ExceedsTotal(c.jobs+nodes):
		if c.lack += nodes; c.jobs+c.lack-limits.Total > c.finished.jobs { // it waits for Jobs that are not finished
			c.lack -= nodes
			c.room = 0
			return false
		}
	default:
		c.admit(user, t)
	}
	return true
}

// isHeldBack reports whether no task of a user is admitted, however few Jobs exist.
func (p *Picture) isHeldBack(user string) bool {
	return p.backlog.delayed[user] >= maxDelayed || p.exceedsUnschedulable(user)
}

func (p *Picture) exceedsUnschedulable(user string) bool {
	return p.limits.Unschedulable > 0 && p.unschedulable[user] >= p.limits.Unschedulable
}

// lackJobsOf notes how many finished Jobs of a user have to go before as many of
// his next tasks may be admitted as there is room for.
func (c *chooser) lackJobsOf(user string, line []*taskItem) {
	jobs := c.state.JobsOf(user) + c.chosen[user]
	for _, i := range line[:min(len(line), c.room)] {
		jobs += i.kept.NumNodes()
		lack := jobs - c.limits.PerUser
		if lack > c.finished.of[user] {
			return
		}
		c.lackOf[user] = lack
	}
}

// evict chooses the finished tasks whose Jobs have to go, the oldest first.
func (c *chooser) evict() {
	lack := 0
	if c.lack > 0 {
		lack = c.jobs + c.lack - c.limits.Total
	}
	for _, t := range c.finished.tasks {
		if lack <= 0 && len(c.lackOf) == 0 {
			return
		}
		user := t.User()
		of, wanted := c.lackOf[user]
		if lack <= 0 && !wanted {
			continue
		}
		c.Evict = append(c.Evict, task.Key{Kind: task.KindTask, ID: t.ID})
		lack -= t.NumNodes()
		if of -= t.NumNodes(); of > 0 {
			c.lackOf[user] = of
		} else {
			delete(c.lackOf, user)
		}
	}
}

// countUnschedulable counts the pods of a task for which the scheduler finds no
// node, as its user's.
func (p *Picture) countUnschedulable(i *taskItem, v *task.View) {
	count := uint16(0)
	for _, pod := range v.Pods {
		if pod != nil && !v.Phase.Over() && pod.Phase == task.Pending && pod.Host == "" && pod.Reason == corev1.PodReasonUnschedulable {
			count++
		}
	}
	if count == i.unschedulable {
		return
	}
	user := i.kept.User()
	if p.unschedulable[user] += int(count) - int(i.unschedulable); p.unschedulable[user] == 0 {
		delete(p.unschedulable, user)
	}
	i.unschedulable = count
	p.backlog.change()
}

// whyWaiting says why the Jobs of a task at this position of the backlog are still
// to be created, and how long it takes.
func (p *Picture) whyWaiting(i *taskItem, position int) (reason, message string) {
	message = p.backlog.note(position)
	if i.place != placeWaiting {
		return task.ReasonBacklog, message
	}
	user, limits := i.kept.User(), p.limits
	switch {
	case p.exceedsUnschedulable(user):
		return task.ReasonMaxUnplaced, fmt.Sprintf("%s; %d of your pods find no node, and more are made only while fewer than %d do", message, p.unschedulable[user], limits.Unschedulable)
	case p.backlog.delayed[user] >= maxDelayed:
		return task.ReasonBacklog, fmt.Sprintf("%s; %d of your tasks before it cannot be created at present, for the reasons that they have", message, p.backlog.delayed[user])
	case p.exceedsPerUser(user):
		return task.ReasonMaxUserJobs, fmt.Sprintf("%s; %d of at most %d Jobs of yours exist", message, p.state.JobsOf(user), limits.PerUser)
	case p.exceedsTotal():
		return task.ReasonMaxJobs, fmt.Sprintf("%s; %d of at most %d Jobs exist", message, p.state.Jobs(), limits.Total)
	}
	return task.ReasonBacklog, message
}

// exceedsPerUser reports whether the next task of a user does not fit his limit.
func (p *Picture) exceedsPerUser(user string) bool {
	return p.limits.ExceedsPerUser(p.state.JobsOf(user) + p.backlog.lines[user][0].kept.NumNodes())
}

// exceedsTotal reports whether the task that is next does not fit the total.
func (p *Picture) exceedsTotal() bool {
	for _, user := range p.backlog.order {
		if !p.isHeldBack(user) && !p.exceedsPerUser(user) {
			return p.limits.ExceedsTotal(p.state.Jobs() + p.backlog.lines[user][0].kept.NumNodes())
		}
	}
	return false
}
