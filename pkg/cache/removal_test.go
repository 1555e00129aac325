package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s-cli/pkg/task"
)

// After an entry that stops and expires many tasks, all positions are right.
func TestManyTasksLeaveAtOnce(t *testing.T) {
	p := newTestStore(t)
	var forget task.ExpireHistory
	for i := range 20 {
		user := []string{"ann", "bob"}[i%2]
		p.apply(submit(user, fmt.Sprint(i)))
		if i%3 > 0 {
			forget.IDs = append(forget.IDs, fmt.Sprint(i))
		}
	}
	p.foldTogether(noon, task.Command{StopAll: &task.StopAll{User: "ann", AllUsers: true}}, submit("ann", "new"), stop("ann", "new"), submit("bob", "left"))
	if p.admission.queue.size != 1 || len(p.admission.queue.userQueues) != 1 || p.admission.queue.position(p.tasks["left"]) != 1 {
		t.Errorf("in the backlog: %d tasks of %d users", p.admission.queue.size, len(p.admission.queue.userQueues))
	}
	for i := range 20 {
		p.apply(gone(taskKey(fmt.Sprint(i))))
	}
	p.apply(task.Command{ExpireHistory: &forget})
	got, _ := p.list(task.Query{AllUsers: true})
	if want := []string{"left", "new", "18", "15", "12", "9", "6", "3", "0"}; !slices.Equal(got, want) {
		t.Errorf("tasks %q, want %q", got, want)
	}
	if len(p.history.tasks) != 7 {
		t.Errorf("%d tasks in the history", len(p.history.tasks))
	}
}

// Entries of many commands change the backlog in the same way as entries of one command.
func TestTheBacklogFollowsEntriesOfManyCommands(t *testing.T) {
	for seed := range seeds(20) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a seed is wanted
		p := limited(t, limits(0, 0, 0))
		one := func(of ...string) string { return of[random.IntN(len(of))] }
		some := func(n int) string { return fmt.Sprint("t", random.IntN(n+1)) }
		for n := range 100 {
			var entry []task.Command
			for i := range 1 + random.IntN(12) {
				c := urgent(one("ann", "bob", "cid"), fmt.Sprint("t", 12*n+i), random.IntN(3))
				switch random.IntN(8) {
				case 0:
					c = task.Command{StopAll: &task.StopAll{User: one("ann", "bob")}}
				case 1, 2:
					c = stop(one("ann", "bob", "cid"), some(12*n))
				case 3:
					c = admitted(some(12*n), some(12*n))
				case 4:
					c = applied(taskKey(some(12*n)), "u")
				case 5:
					c = gone(taskKey(some(12 * n)))
				}
				entry = append(entry, c)
			}
			p.foldTogether(noon, entry...)
			p.check(seed)
		}
	}
}
