package state

import (
	"fmt"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

func TestKeys(t *testing.T) {
	run := func(script string) task.Spec { return task.Spec{Run: script} }
	first := task.Submit{ID: "aaaaaaaa", User: "ann", Task: run("x"), Image: "one", Key: "k"}
	for _, tt := range []struct {
		name  string
		again task.Submit
		want  task.Result
	}{
		{"the same again is the first", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Image: "one", Key: "k"}, task.Result{ID: "aaaaaaaa"}},
		{"another default image does not matter", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Image: "two", Key: "k"}, task.Result{ID: "aaaaaaaa"}},
		{"another body is refused", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("y"), Key: "k"}, task.Result{ID: "aaaaaaaa", Rejection: task.RejectedKeyReuse}},
		{"another user's key is another key", task.Submit{ID: "bbbbbbbb", User: "bob", Task: run("x"), Key: "k"}, task.Result{ID: "bbbbbbbb"}},
		{"another key is another task", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x"), Key: "l"}, task.Result{ID: "bbbbbbbb"}},
		{"without a key each is a task", task.Submit{ID: "bbbbbbbb", User: "ann", Task: run("x")}, task.Result{ID: "bbbbbbbb"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New()
			s.submit(first, nil)
			got, _ := s.submit(tt.again, nil)
			if got.ID != tt.want.ID || got.Rejection != tt.want.Rejection {
				t.Errorf("verdict %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestKeysOfTasksAndVolumesAreSeparate(t *testing.T) {
	s := New()
	s.submit(task.Submit{ID: "aaaaaaaa", User: "ann", Task: task.Spec{Run: "x"}, Key: "k"}, nil)
	got, _ := s.create(task.Create{ID: "bbbbbbbb", User: "ann", Volume: task.Volume{Name: "v", Size: "1Gi"}, Key: "k"})
	if got.ID != "bbbbbbbb" || got.Rejection != "" {
		t.Errorf("verdict %+v", got)
	}
}

func keyed(id, key string) task.Command { return withKey(submit("ann", id), key) }

// expireAt expires tasks, with a history of size 0, and keys.
func (s *testState) expireAt(now time.Time, keys int, ids ...string) task.Result {
	s.t.Helper()
	return s.foldAt(now, time.Time{}, task.Command{ExpireHistory: &task.ExpireHistory{IDs: ids, Now: now, Then: now, Keys: keys, KeysThen: now.Add(-task.KeyLifetime)}})
}

// A key lives for its own time, however early its task expires.
func TestAKeyOutlivesItsTask(t *testing.T) {
	for _, tt := range []struct {
		name     string
		after    time.Duration // age at which the task expires
		then     time.Duration // age at which keys expire
		repeated string        // id in the result of a repeated submission
	}{
		{"forgotten at once", time.Minute, 2 * time.Minute, "a"},
		{"within the life of the key", time.Minute, task.KeyLifetime - 1, "a"},
		{"after the life of the key", time.Minute, task.KeyLifetime, "b"},
		{"forgotten after the life of the key", task.KeyLifetime, task.KeyLifetime, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t)
			for _, c := range []task.Command{keyed("a", "k"), stop("ann", "a"), gone(taskKey("a"))} {
				w.foldAt(noon, time.Time{}, c)
			}
			w.expireAt(noon.Add(tt.after), 0, "a")
			if w.Tasks["a"] != nil {
				t.Fatal("the task is not forgotten")
			}
			w.State = decoded(t, encoded(t, w.Snapshot()))
			w.expireAt(noon.Add(tt.then), 10)
			other := keyed("b", "k")
			other.Submit.Task.Run = "false"
			if v := w.foldAt(noon.Add(tt.then), time.Time{}, other); tt.repeated == "a" && v.Rejection != task.RejectedKeyReuse {
				t.Errorf("another body: %+v", v)
			} else if tt.repeated == "b" && v.ID != "b" {
				t.Errorf("a new submission: %+v", v)
			}
			if tt.repeated == "b" {
				return
			}
			if v := w.foldAt(noon.Add(tt.then), time.Time{}, keyed("b", "k")); v.ID != "a" || v.Rejection != "" {
				t.Errorf("the same body: %+v", v)
			}
		})
	}
}

func TestKeysExpireByBothClocks(t *testing.T) {
	late := noon.Add(2 * task.KeyLifetime)
	for _, tt := range []struct {
		name        string
		now, stored time.Time
		keys, count int
	}{
		{"all", late, late, 10, 3},
		{"no more than asked for", late, late, 2, 2},
		{"by the leader's clock alone", late, noon, 10, 0},
		{"by the clock of NATS alone", noon, late, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t)
			for i := range 3 {
				id := fmt.Sprint(i)
				for _, c := range []task.Command{keyed(id, id), stop("ann", id), gone(taskKey(id))} {
					w.foldAt(noon, time.Time{}, c)
				}
				w.expireAt(noon, 0, id)
			}
			if n := w.RetiredKeys(late.Add(-task.KeyLifetime), 10); n != 3 {
				t.Errorf("%d keys may go, want 3", n)
			}
			v := w.foldAt(tt.stored, time.Time{}, task.Command{ExpireHistory: &task.ExpireHistory{Now: tt.now, Keys: tt.keys, KeysThen: tt.now.Add(-task.KeyLifetime)}})
			if v.Count != tt.count || len(w.keys) != 3-tt.count || len(w.retired) != 3-tt.count {
				t.Errorf("%+v; %d keys are left, %d of them retired", v, len(w.keys), len(w.retired))
			}
		})
	}
}

// Memory is bounded: beyond maxRetired keys, the oldest keys expire early.
func TestRetiredKeysAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the test is long; make test-unit runs it")
	}
	s := New()
	s.Time = noon
	for i := range maxRetired + 10 {
		k := idempotency{task.KindTask, "ann", fmt.Sprint(i)}
		s.keys[k] = firstUse{id: "a"}
		s.retire(task.ExpireHistory{}, k, "a", noon)
	}
	if len(s.keys) != maxRetired || len(s.retired) != maxRetired || s.retired[0].key != "10" {
		t.Errorf("%d keys, %d of them retired, the first is %s", len(s.keys), len(s.retired), s.retired[0].key)
	}
}
