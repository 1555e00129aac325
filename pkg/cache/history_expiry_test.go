package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// passed returns a store of five tasks. All but the third are over and cleaned up, one each
// second from second 6 on.
func passed(t *testing.T) *testStore {
	p := newTestStore(t)
	for i := range 5 {
		p.apply(submit("ann", fmt.Sprint(i)))
	}
	for _, id := range []string{"0", "1", "3", "4"} {
		p.apply(stop("ann", id))
	}
	for _, id := range []string{"0", "1", "3", "4"} {
		p.apply(gone(taskKey(id)))
	}
	return p
}

func TestExpiredHistory(t *testing.T) {
	p := passed(t)
	at := func(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }
	for _, tt := range []struct {
		name         string
		then         time.Time
		tasks, limit int
		want         []string
	}{
		{"nothing is too old or too much", at(6), 4, 10, nil},
		{"what ended before", at(8), 4, 10, []string{"0", "1"}},
		{"what is too much, the oldest first", at(0), 3, 10, []string{"0"}},
		{"both", at(7), 2, 10, []string{"0", "1"}},
		{"no more than asked for", at(60), 4, 3, []string{"0", "1", "3"}},
		{"never what is not over", at(60), 0, 10, []string{"0", "1", "3", "4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, _ := p.Expired(tt.then, 0, tt.tasks, tt.limit); !cmp.Equal(f.IDs, tt.want) {
				t.Errorf("expired %q, want %q", f.IDs, tt.want)
			}
		})
	}
}

// Tasks whose Jobs are retained count towards the history too.
func TestExpiredTasksWithJobsAreEvicted(t *testing.T) {
	p := newTestStore(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		p.apply(submit("ann", id), applied(taskKey(id), id+"/0"))
	}
	for _, id := range []string{"b", "a", "c"} {
		p.apply(task.Command{Ended: &task.Ended{ID: id, Phase: task.Completed}})
	}
	p.apply(stop("ann", "d"), gone(taskKey("a")))
	for _, tt := range []struct {
		most, limit int
		forget      []string
		kept        []task.Key
	}{
		{3, 10, nil, nil},
		{2, 10, nil, []task.Key{taskKey("b")}},
		{1, 10, []string{"a"}, []task.Key{taskKey("b")}},
		{1, 1, []string{"a"}, []task.Key{taskKey("b")}},
		{0, 10, []string{"a"}, []task.Key{taskKey("b"), taskKey("c")}}, // the Jobs of the stopped task are deleted anyway
	} {
		if f, kept := p.Expired(noon, 0, tt.most, tt.limit); !cmp.Equal(f.IDs, tt.forget) || !cmp.Equal(kept, tt.kept) {
			t.Errorf("with room for %d: %q and %v, want %q and %v", tt.most, f.IDs, kept, tt.forget, tt.kept)
		}
	}
}

// The Jobs of a completed task are retained for a while, the Jobs of a stopped task are
// deleted at once.
func TestHistoryExpiresInOrderOfTheEnd(t *testing.T) {
	p := newTestStore(t)
	for _, id := range []string{"a", "b", "c"} {
		p.apply(submit("ann", id), create("ann", id+"v", id))
	}
	for _, id := range []string{"a", "b", "c"} {
		p.apply(stop("ann", id), remove("ann", id+"v"))
	}
	for _, id := range []string{"b", "c", "a"} {
		p.apply(gone(taskKey(id)), gone(volumeKey(id+"v")))
	}
	want := task.ExpireHistory{IDs: []string{"a"}, Volumes: []string{"av"}}
	if got, _ := p.Expired(noon, 0, 2, 10); !cmp.Equal(onlyIDs(got), want) {
		t.Errorf("expired %+v, want %+v", got, want)
	}
	_, text := p.snapshot()
	restored := newTestStore(t)
	must.Succeed(t, restored.Restore(strings.NewReader(text)))
	if got, _ := restored.Expired(noon, 0, 2, 10); !cmp.Equal(onlyIDs(got), want) {
		t.Errorf("expired in a restored store %+v, want %+v", got, want)
	}
}

func TestExpiredTasksAreRemoved(t *testing.T) {
	p := passed(t)
	p.apply(task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"1", "2", "0", "nobody's"}}})
	if got, _ := p.list(task.Query{User: "ann"}); !cmp.Equal(got, []string{"4", "3", "2"}) {
		t.Errorf("ann's tasks %q", got)
	}
	if got, _ := p.list(task.Query{AllUsers: true}); !cmp.Equal(got, []string{"4", "3", "2"}) {
		t.Errorf("everyone's tasks %q", got)
	}
	if p.task("ann", "1") != "" {
		t.Error("a forgotten task is answered")
	}
	if f, _ := p.Expired(noon.Add(time.Minute), 0, 4, 10); !cmp.Equal(f.IDs, []string{"3", "4"}) {
		t.Errorf("expired %q", f.IDs)
	}
	p.apply(stop("ann", "2"), gone(taskKey("2")), task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"2", "3", "4"}}})
	if len(p.tasks) != 0 || len(p.index.byUser) != 0 || len(p.index.all.tasks) != 0 {
		t.Errorf("left: %d tasks, %d users, %d on the shelf", len(p.tasks), len(p.index.byUser), len(p.index.all.tasks))
	}
}

// onlyIDs returns a command with only the ids of f.
func onlyIDs(f task.ExpireHistory) task.ExpireHistory {
	return task.ExpireHistory{IDs: f.IDs, Volumes: f.Volumes}
}

// stopped folds a task that is stopped and cleaned up, in entries of the same time.
func (p *testStore) stopped(id string, at time.Time) {
	p.t.Helper()
	for _, c := range []task.Command{submit("ann", id), stop("ann", id), gone(taskKey(id))} {
		p.foldAt(at, c)
	}
}

// One entry with a wrong time neither retains other tasks in the history nor expires them.
func TestHistoryExpiresDespiteWrongClocks(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, tt := range []struct {
		name  string
		wrong time.Duration
		left  []string
	}{
		{"ahead", 365 * 24 * time.Hour, []string{"wrong"}},
		{"behind", -365 * 24 * time.Hour, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newTestStore(t)
			p.stopped("before", noon)
			p.stopped("wrong", noon.Add(tt.wrong))
			p.stopped("after", noon.Add(time.Second))
			forget := func(now time.Time) []string {
				t.Helper()
				f, _ := p.Expired(now, week, 10, 10)
				p.foldAt(now, task.Command{ExpireHistory: &f})
				left, _ := p.list(task.Query{User: "ann"})
				return left
			}
			if left := forget(noon.Add(week - time.Hour)); tt.wrong > 0 && len(left) != 3 {
				t.Fatalf("within the week there are %q", left)
			}
			now := noon.Add(week + week/5)
			if left := forget(now); !cmp.Equal(left, tt.left) {
				t.Fatalf("after the week there are %q, want %q", left, tt.left)
			}
			if left := forget(now.Add(week + week/5)); len(left) != 0 {
				t.Errorf("after two weeks there are %q", left)
			}
		})
	}
}

// The creation rate is measured from the time at which a clock was corrected.
func TestAClockThatJumpsIsNoRate(t *testing.T) {
	for _, jump := range []time.Duration{365 * 24 * time.Hour, -365 * 24 * time.Hour} {
		b, at := newFairQueue(make(chan struct{}, 1)), noon
		for i := range 20 {
			if i == 10 {
				at = at.Add(jump)
			}
			at = at.Add(time.Second)
			b.recordCreation(at)
		}
		if rate := b.rate(); rate != 1 {
			t.Errorf("a jump by %s: %f tasks a second, want 1", jump, rate)
		}
	}
}

// The next leader reconciles only objects that may need work, and not the whole history.
func TestNothingIsLeftToDoForTheHistory(t *testing.T) {
	p := newTestStore(t, submit("ann", "runs"), submit("ann", "stopped"), submit("ann", "gone"), submit("ann", "late"))
	p.apply(create("ann", "v", "data"), create("ann", "w", "models"), create("ann", "x", "old"))
	p.apply(stop("ann", "stopped"), stop("ann", "gone"), stop("ann", "late"), gone(taskKey("gone")), gone(taskKey("late")))
	p.apply(remove("ann", "w"), remove("ann", "x"), gone(volumeKey("w")), gone(volumeKey("x")))
	p.putJob(job(submit("ann", "late"), 0, task.Running))
	p.putClaim(claim(create("ann", "x", "old"), "Bound"))
	p.putJob(job(submit("eve", "stray"), 0, task.Running))
	var got []string
	for _, k := range p.Keys() {
		got = append(got, k.String())
	}
	slices.Sort(got)
	var want []string
	for _, k := range []task.Key{taskKey("late"), taskKey("runs"), taskKey("stopped"), taskKey("stray"), volumeKey("v"), volumeKey("x")} {
		want = append(want, k.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// Pods whose clocks differ by a tenth of the history's length, or by a minute, expire the same
// tasks.
func TestTheHistoryAllowsForClocks(t *testing.T) {
	p := passed(t) // the first task ended at 6 s
	for _, tt := range []struct {
		length, now time.Duration
		want        int
	}{
		{100 * time.Second, 116 * time.Second, 0},
		{100 * time.Second, 117 * time.Second, 1},
		{time.Hour, time.Hour + 66*time.Second, 0},
		{time.Hour, time.Hour + 67*time.Second, 1},
	} {
		if f, _ := p.Expired(noon.Add(tt.now), tt.length, 10, 10); len(f.IDs) != tt.want {
			t.Errorf("after %v of a history of %v: %q are forgotten, want %d", tt.now, tt.length, f.IDs, tt.want)
		}
	}
}
