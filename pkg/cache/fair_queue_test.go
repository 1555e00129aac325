package cache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

func urgent(user, id string, priority int) task.Command {
	c := submit(user, id)
	c.Submit.Task.Resources.Priority = priority
	return c
}

func TestPlacesInTheBacklog(t *testing.T) {
	p := newTestStore(t, submit("ann", "a1"), submit("ann", "a2"), submit("bob", "b1"), submit("ann", "a3"), urgent("ann", "a4", 5), mounting("bob", "b2", "nowhere"))
	places := func() string {
		var all []string
		for _, id := range []string{"a1", "a2", "a3", "a4", "b1", "b2"} {
			if item := p.tasks[id]; item.stage == stageWaiting || item.stage == stageCreating {
				all = append(all, fmt.Sprint(id, ":", p.admission.queue.position(item)))
			}
		}
		return fmt.Sprintf("%s of %d", strings.Join(all, " "), p.admission.queue.length())
	}
	for _, tt := range []struct {
		name string
		tell task.Command
		want string
	}{
		{"the next user's comes in between", submit("carl", "c1"), "a1:4 a2:5 a3:6 a4:1 b1:1 of 6"},
		{"what is created leaves", applied(taskKey("a4"), "u"), "a1:1 a2:4 a3:5 b1:1 of 5"},
		{"what is admitted is before all that wait", admitted("b1"), "a1:2 a2:4 a3:5 b1:1 of 5"},
		{"what is delayed leaves", task.Command{Blocked: &task.Blocked{Key: taskKey("b1"), Reason: "QuotaExceeded"}}, "a1:1 a2:3 a3:4 of 4"},
		{"what is stopped leaves", stop("ann", "a2"), "a1:1 a3:3 of 3"},
		{"what is refused leaves", refused(taskKey("c1")), "a1:1 a3:2 of 2"},
	} {
		p.apply(tt.tell)
		if got := places(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	p.Reset()
	if p.admission.queue.length() != 0 {
		t.Errorf("without its log the backlog has %d tasks", p.admission.queue.length())
	}
	p.replayLog()
	if got := places(); got != "a1:1 a3:2 of 2" {
		t.Errorf("read anew: %s", got)
	}
}

func TestHowLongTheBacklogTakes(t *testing.T) {
	for _, tt := range []struct {
		name         string
		created      int           // number of created tasks
		apart        time.Duration // time between two creations
		backlogStage int
		want         string
	}{
		{"too few to say", 4, time.Second, 7, "number 7 of 9 in the backlog"},
		{"all at once", 10, 0, 7, "number 7 of 9 in the backlog"},
		{"slowly", 10, 4 * time.Second, 10, "number 10 of 9 in the backlog, about 40 s at 0.2 tasks/s"},
		{"fast", 1000, time.Second / 128, 4800, "number 4800 of 9 in the backlog, about 38 s at 128 tasks/s"},
		{"for long", 10 * maxCreationTimes, time.Second, 1000, "number 1000 of 9 in the backlog, about 17 min at 1.0 tasks/s"},
		{"at once", 1000, time.Second / 128, 1, "number 1 of 9 in the backlog, about 1 s at 128 tasks/s"},
	} {
		b := newFairQueue(nil)
		b.size = 9
		for i := range tt.created {
			b.recordCreation(noon.Add(time.Duration(i) * tt.apart))
		}
		if got := b.describe(tt.backlogStage); got != "waiting for its Jobs: "+tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
		if len(b.creationTimes) > 2*maxCreationTimes {
			t.Errorf("%d times are remembered", len(b.creationTimes))
		}
	}
}

func TestAnswersHaveThePlaceInTheBacklog(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), submit("ann", "b"))
	answer := func(id string) Answer {
		a, _ := p.TaskAnswer("ann", id, 0)
		return a
	}
	if a := answer("b"); a.Position != 2 || a.Reason != task.ReasonBacklog || !strings.Contains(a.Message, "number 2 of 2") {
		t.Errorf("%+v", a)
	}
	if a := answer("a"); a.Position != 1 {
		t.Errorf("the first one has place %d", a.Position)
	}
	p.putJob(job(submit("ann", "a"), 0, task.Pending))
	if d := answer("a"); d.Position != 0 {
		t.Errorf("once its Job is seen it has place %d", d.Position)
	}
	p.apply(applied(taskKey("b"), "u"))
	if d := answer("b"); d.Position != 0 {
		t.Errorf("once the log says that its Jobs exist it has place %d", d.Position)
	}
}

// A task that an entry removes from a user queue does not count for the positions of other
// tasks.
func TestPlacesAfterAUserStopsEverything(t *testing.T) {
	p := newTestStore(t, submit("ann", "a1"), submit("ann", "a2"), submit("ann", "a3"), submit("bob", "b1"), submit("bob", "b2"))
	p.apply(task.Command{StopAll: &task.StopAll{User: "ann"}})
	if d, _ := p.TaskAnswer("bob", "b2", 0); d.Position != 2 {
		t.Errorf("the second of two tasks has place %d", d.Position)
	}
}

func TestHowRatesAndTimesAreSaid(t *testing.T) {
	for rate, want := range map[float64]string{0.25: "0.2", 9.5: "9.5", 10: "10", 127.6: "128"} {
		if got := brief(rate); got != want {
			t.Errorf("rate %v: %s, want %s", rate, got, want)
		}
	}
	for seconds, want := range map[float64]string{0: "1 s", 0.9: "1 s", 1: "1 s", 1.6: "2 s", 119: "119 s", 120: "2 min", 7199: "120 min", 7200: "2 h"} {
		if got := roughly(seconds); got != want {
			t.Errorf("%v seconds: %s, want %s", seconds, got, want)
		}
	}
}
