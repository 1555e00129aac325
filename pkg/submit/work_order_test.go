package submit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
)

// accept appends a submission of a user, and its admission by an earlier controller.
func (w *testCluster) accept(user, id string) {
	w.t.Helper()
	w.append(of(user, id, 1))
}

func of(user, id string, nodes int) task.Command {
	return task.Command{Submit: &task.Submit{ID: id, User: user, Image: "python", Task: task.Spec{Run: "true", NumNodes: nodes}}}
}

// drain empties the queue and returns the ids in the order of removal.
func drain(b *workOrder) (ids []string) {
	for b.Len() > 0 {
		ids = append(ids, b.Pop().ID)
	}
	return ids
}

func TestOrderOfTheFairQueue(t *testing.T) {
	w := newTestCluster(t)
	for _, id := range []string{"a1", "a2", "a3", "a4", "a5"} {
		w.accept("ann", id)
	}
	w.accept("bob", "b1")
	w.accept("bob", "b2")
	w.accept("cid", "c1")
	for _, id := range []string{"r1", "r2"} { // running tasks with a change
		w.accept("ann", id)
		w.append(task.Command{Applied: &task.Applied{Key: taskKey(id), UIDs: []string{"uid"}}})
	}
	w.accept("ann", "s1")
	w.append(task.Command{Stop: &task.Stop{User: "ann", ID: "s1"}})

	b := newWorkOrder(w.store)
	for _, id := range strings.Fields("a4 a3 a2 a1 r1 r2 b1 b2 a5 c1 s1") {
		b.Push(taskKey(id))
	}
	w.append(task.Command{Stop: &task.Stop{User: "ann", ID: "a2"}})
	b.Touch(taskKey("a2"))
	b.Touch(taskKey("a3")) // nothing has changed
	want := "s1 a2 a4 r1 b1 r2 c1 a3 b2 a1 a5"
	if got := strings.Join(drain(b), " "); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// A claim with the launcher's labels may have no record.
func TestWorkOrderHasObjectsWithoutRecords(t *testing.T) {
	b := newWorkOrder(newTestCluster(t).store)
	b.Push(volumeKey("stray"))
	b.Push(taskKey("stray"))
	if got := drain(b); len(got) != 2 {
		t.Errorf("out came %v", got)
	}
}

// Whatever happens to queued objects, each is removed once for each time it was added.
func TestFairQueueLosesAndRepeatsNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a seed is wanted
	w := newTestCluster(t)
	b := newWorkOrder(w.store)
	waiting := map[string]bool{}
	var ids []string
	for n := range 3000 {
		switch random.IntN(5) {
		case 0:
			id := fmt.Sprint("t", n)
			ids = append(ids, id)
			w.accept(fmt.Sprint("user", random.IntN(4)), id)
			b.Push(taskKey(id))
			waiting[id] = true
		case 1, 2:
			if len(ids) == 0 {
				continue
			}
			id := ids[random.IntN(len(ids))]
			if v := w.store.TaskView(id); random.IntN(2) == 0 && !v.Phase.Over() {
				w.append(task.Command{Stop: &task.Stop{User: v.Submit.User, ID: id}})
			} else if !v.Phase.Over() && v.UIDs == nil {
				w.append(task.Command{Applied: &task.Applied{Key: taskKey(id), UIDs: []string{"uid"}}})
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
	w.accept("last", "last")
	b.Push(taskKey("last")) // entries without an object are removed with the next object
	if ids := drain(b); len(ids) != 1 || len(waiting)+len(b.creates)+len(b.users) > 0 {
		t.Errorf("left: %v, %d users", waiting, len(b.creates))
	}
}

func TestQueueShrinksOnceEmpty(t *testing.T) {
	b := newWorkOrder(cache.New())
	for i := range shrinkAt + 1 {
		b.Push(taskKey(fmt.Sprint(i)))
	}
	full := b.items
	for b.Len() > 0 {
		b.Pop()
	}
	if b.Push(taskKey("a")); len(full) != 0 || b.Len() != 1 {
		t.Errorf("the map of %d objects is still used", shrinkAt+1)
	}
}
