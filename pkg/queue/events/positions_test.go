package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// The events of tasks are read by their positions in the stream, in order, also events that come
// later, and without the events of volumes and of other users.
func TestEventsByPosition(t *testing.T) {
	t.Parallel()
	p := newPod(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), queue.Config{})
	if _, err := p.events.Bounds(t.Context()); !errors.Is(err, problem.NotFound) {
		t.Errorf("without a stream: %v", err)
	}
	p.publishes(t)
	p.put(t, "a")
	p.do(t, task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "v", Size: "1Gi"}}})
	p.do(t, task.Command{Submit: &task.Submit{ID: "b", User: "bob.x", Task: task.Spec{Run: "true"}}})
	p.put(t, "c")
	natstest.Eventually(t, "four events", func() bool {
		b, err := p.events.Bounds(t.Context())
		return err == nil && b.First == 1 && b.Last == 4 && b.Stream != ""
	})
	ctx, cancel := context.WithCancel(t.Context())
	var passed []string
	late := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- p.events.FollowTasks(ctx, 2, func(position uint64, id string) {
			switch passed = append(passed, fmt.Sprint(position, id)); id {
			case "c":
				close(late)
			case "d":
				cancel()
			}
		})
	}()
	<-late
	p.put(t, "d")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("FollowTasks ended with %v", err)
	}
	if want := []string{"3b", "4c", "5d"}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
	for _, tt := range []struct {
		user string
		from uint64
		want string
	}{{"ann", 0, "1a"}, {"ann", 1, "1a"}, {"ann", 2, "4c"}, {"ann", 5, "5d"}, {"bob.x", 1, "3b"}} {
		var got task.StoredEvent
		natstest.Patiently(t, func() (err error) {
			got, err = p.events.NextOfTasks(t.Context(), tt.user, tt.from)
			return err
		})
		if fmt.Sprint(got.Position, got.Event.TaskID) != tt.want || got.Log != p.ID() || got.Event.User != tt.user {
			t.Errorf("%s from %d: %+v", tt.user, tt.from, got)
		}
	}
	for _, user := range []string{"ann", "bob"} {
		if got, err := p.events.NextOfTasks(t.Context(), user, 6); !errors.Is(err, problem.NotFound) {
			t.Errorf("after the last event: %+v, %v", got, err)
		}
	}
}

// A restored stream has its id, so that notifications continue. A new stream has another one.
func TestIdentityOfTheStream(t *testing.T) {
	t.Parallel()
	p := newPod(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), queue.Config{})
	id := func() string {
		t.Helper()
		if _, err := p.events.open(natstest.Context(t)); err != nil {
			t.Fatal(err)
		}
		b, err := p.events.Bounds(natstest.Context(t))
		if err != nil || b.Stream == "" {
			t.Fatalf("bounds %+v, %v", b, err)
		}
		return b.Stream
	}
	first := id()
	stream, err := p.events.js.Stream(natstest.Context(t), subject.EventStream)
	must.Succeed(t, err)
	remove := func() {
		t.Helper()
		must.Succeed(t, p.events.js.DeleteStream(natstest.Context(t), subject.EventStream))
	}
	remove()
	if _, err := streams.Create(natstest.Context(t), p.events.js, stream.CachedInfo().Config); err != nil { // as a restore does
		t.Fatal(err)
	}
	if got := id(); got != first {
		t.Errorf("the restored stream is %s, want %s", got, first)
	}
	remove()
	if got := id(); got == first {
		t.Error("a new stream has the id of the deleted one")
	}
}
