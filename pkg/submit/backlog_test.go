package submit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
)

// accept has the log take a task of a user.
func (w *world) accept(user, id string, priority int) {
	w.t.Helper()
	w.say(task.Command{Submit: &task.Submit{
		ID: id, User: user, Image: "python", Task: task.Task{Run: "true", Resources: task.Resources{Priority: priority}},
	}})
}

// drain empties the backlog and returns the ids in the order in which they came.
func drain(b *backlog) (ids []string) {
	for b.Len() > 0 {
		ids = append(ids, b.Pop().ID)
	}
	return ids
}

func TestOrderOfTheBacklog(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a1", "a2", "a3", "a4"} {
		w.accept("ann", id, 0)
	}
	w.accept("ann", "a5", 10)
	w.accept("bob", "b1", -10)
	w.accept("bob", "b2", 0)
	w.accept("cid", "c1", 0)
	for _, id := range []string{"r1", "r2"} { // those run, and something has happened to them
		w.accept("ann", id, 0)
		w.say(task.Command{Applied: &task.Applied{Key: taskKey(id), UIDs: []string{"uid"}}})
	}
	w.accept("ann", "s1", 0)
	w.say(task.Command{Stop: &task.Stop{User: "ann", ID: "s1"}})

	b := newBacklog(w.picture, func() {})
	for _, id := range strings.Fields("a4 a3 a2 a1 r1 r2 b1 b2 a5 c1 s1") {
		b.Push(taskKey(id))
	}
	w.say(task.Command{Stop: &task.Stop{User: "ann", ID: "a2"}})
	b.Touch(taskKey("a2"))
	b.Touch(taskKey("a3")) // nothing has changed
	want := "s1 a2 a5 r1 b2 r2 c1 a1 b1 a3 a4"
	if got := strings.Join(drain(b), " "); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestBacklogSaysThatItIsShared(t *testing.T) {
	w, shared := newWorld(t), 0
	for user, ids := range map[string][]string{"ann": {"a1", "a2", "a3"}, "bob": {"b1", "b2"}} {
		for _, id := range ids {
			w.accept(user, id, 0)
		}
	}
	b := newBacklog(w.picture, func() { shared++ })
	for i, step := range []struct {
		push string
		want int
	}{{"a1", 0}, {"a2", 0}, {"b1", 1}, {"a3", 2}} {
		if b.Push(taskKey(step.push)); shared != step.want {
			t.Errorf("step %d: shared %d times, want %d", i, shared, step.want)
		}
	}
	drain(b)
	if b.Push(taskKey("b2")); shared != 2 {
		t.Errorf("shared with those who wait no more")
	}
}

// A claim that carries our labels may have no record.
func TestBacklogTakesWhatHasNoRecord(t *testing.T) {
	b := newBacklog(newWorld(t).picture, func() {})
	b.Push(volumeKey("stray"))
	b.Push(taskKey("stray"))
	if got := drain(b); len(got) != 2 {
		t.Errorf("out came %v", got)
	}
}

// Whatever happens to objects while they wait, each comes out once for each time
// it went in.
func TestBacklogLosesAndRepeatsNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed is wanted
	w := newWorld(t)
	b := newBacklog(w.picture, func() {})
	waiting := map[string]bool{}
	var ids []string
	for n := range 3000 {
		switch random.IntN(5) {
		case 0:
			id := fmt.Sprint("t", n)
			ids = append(ids, id)
			w.accept(fmt.Sprint("user", random.IntN(4)), id, random.IntN(3))
			b.Push(taskKey(id))
			waiting[id] = true
		case 1, 2:
			if len(ids) == 0 {
				continue
			}
			id := ids[random.IntN(len(ids))]
			if v := w.picture.TaskView(id); random.IntN(2) == 0 && !v.Phase.Over() {
				w.say(task.Command{Stop: &task.Stop{User: v.Submit.User, ID: id}})
			} else if !v.Phase.Over() && v.UIDs == nil {
				w.say(task.Command{Applied: &task.Applied{Key: taskKey(id), UIDs: []string{"uid"}}})
			}
			if waiting[id] {
				b.Touch(taskKey(id))
			} else {
				b.Push(taskKey(id))
				waiting[id] = true
			}
		default:
			if b.Len() == 0 {
				continue
			}
			if id := b.Pop().ID; !waiting[id] {
				t.Fatalf("step %d: %s came out and was not in", n, id)
			} else {
				delete(waiting, id)
			}
		}
		if b.Len() != len(waiting) {
			t.Fatalf("step %d: %d wait, want %d", n, b.Len(), len(waiting))
		}
	}
	for _, id := range drain(b) {
		if !waiting[id] {
			t.Errorf("%s came out and was not in", id)
		}
		delete(waiting, id)
	}
	w.accept("last", "last", 0)
	b.Push(taskKey("last")) // places that nobody has any more go with the next object
	if ids := drain(b); len(ids) != 1 || len(waiting)+len(b.lines)+len(b.turns) > 0 {
		t.Errorf("left: %v, %d lines", waiting, len(b.lines))
	}
}

func TestNoRoomIsKeptForThousandsOnceNoneWaits(t *testing.T) {
	b := newBacklog(cache.New(plain{}), func() {})
	for i := range roomy + 1 {
		b.Push(taskKey(fmt.Sprint(i)))
	}
	full := b.queued
	for b.Len() > 0 {
		b.Pop()
	}
	if b.Push(taskKey("a")); len(full) != 0 || b.Len() != 1 {
		t.Errorf("the map of %d objects is still used", roomy+1)
	}
}
