package cache

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// A backlog is the tasks whose Jobs are still to be created, as the log has
// them, and how fast they were created of late. The users' lines take turns; in
// a line the highest priority is first, and then what was accepted first.
type backlog struct {
	lines map[string][]*taskItem // by user, the next one first
	size  int
	turns uint64      // how often any of this changed
	times []time.Time // of the last ones that were created since the backlog was empty, by the log's clock
}

const maxTimes = 512 // that the rate is measured over

func newBacklog() *backlog { return &backlog{lines: map[string][]*taskItem{}} }

// queue puts a task into the backlog or takes it out.
func (p *Picture) queue(i *taskItem, v *task.View) {
	r := v.Record
	waits := r != nil && !r.Phase.Over() && r.UIDs == nil && r.Reason == "" && len(v.Missing) == 0
	switch {
	case waits && !i.queued:
		p.backlog.join(i)
	case !waits:
		p.backlog.leave(i)
	}
}

func (b *backlog) join(i *taskItem) {
	user := i.kept.User()
	at, _ := slices.BinarySearchFunc(b.lines[user], i, before)
	b.lines[user] = slices.Insert(b.lines[user], at, i)
	b.size++
	b.turns++
	i.queued = true
}

func (b *backlog) leave(i *taskItem) {
	if !i.queued {
		return
	}
	b.turns++
	i.queued = false
	user := i.kept.User()
	line := b.lines[user]
	if at, found := slices.BinarySearchFunc(line, i, before); found && at == 0 {
		line[0] = nil
		b.lines[user] = line[1:]
	} else if found {
		b.lines[user] = slices.Delete(line, at, at+1)
	}
	if len(b.lines[user]) == 0 {
		delete(b.lines, user)
	}
	if b.size--; b.size == 0 {
		b.times = nil
	}
}

func before(a, b *taskItem) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.kept.Order, b.kept.Order))
}

// applied notes that the Jobs of a task were created.
func (b *backlog) applied(at time.Time) {
	b.turns++
	if b.times = append(b.times, at); len(b.times) > 2*maxTimes {
		b.times = slices.Clone(b.times[maxTimes:])
	}
}

// position returns which one from the front a task is, if every user before it
// in a round has a turn in each.
func (b *backlog) position(i *taskItem) int {
	owner := i.kept.User()
	mine, _ := slices.BinarySearchFunc(b.lines[owner], i, before)
	place := mine + 1
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
	text := fmt.Sprintf("its Jobs are still to be created: it is number %d of %d", place, b.size)
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
