package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
)

// A snapshotLog is a fake log that records the snapshots and markers.
type snapshotLog struct {
	mu       sync.Mutex
	due      bool  // a snapshot is due
	taken    bool  // another pod has taken the snapshot of the marker
	kept     error // error of StoreSnapshot
	dropping bool  // Compact returns done as false
	full     error // error of a marker
	told     []string
}

func (l *snapshotLog) Append(_ context.Context, c task.Command) (task.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.SnapshotMarker != nil:
		l.told = append(l.told, "mark")
		return task.Result{}, l.full
	case c.SnapshotStored != nil:
		l.told = append(l.told, fmt.Sprintf("kept %d %s", c.SnapshotStored.Seq, c.SnapshotStored.Hash))
		l.due = false
	}
	return task.Result{}, nil
}

// set applies change to l between two calls of its methods.
func (l *snapshotLog) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *snapshotLog) SnapshotDue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due
}

func (l *snapshotLog) StoreSnapshot(_ context.Context, s task.Snapshot) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, fmt.Sprint("keep ", s.Seq()))
	return l.kept
}

func (l *snapshotLog) Compact(_ context.Context, log string, _ task.Submissions) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, "drop "+log)
	return !l.dropping, nil
}

func (l *snapshotLog) MakeSpace(context.Context, task.Submissions) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, "make space")
	return nil
}

func (l *snapshotLog) Snapshot() (task.Snapshot, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return someSnapshot{}, !l.taken
}

func (l *snapshotLog) Submissions(_, _ uint64) map[uint64]bool { return nil }

type someSnapshot struct{}

func (someSnapshot) Log() string            { return "log" }
func (someSnapshot) Seq() uint64            { return 7 }
func (someSnapshot) Hash() string           { return "hash" }
func (someSnapshot) Encode(io.Writer) error { return nil }

func TestSnapshotsAreKept(t *testing.T) { synctest.Test(t, keepsSnapshots) }

func keepsSnapshots(t *testing.T) {
	var l snapshotLog
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runSnapshots(ctx, &l, &l, slog.New(slog.NewTextHandler(&said, nil))) }()
	after := func(what string, d time.Duration, want ...string) {
		t.Helper()
		time.Sleep(d)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if !slices.Equal(l.told, want) {
			t.Errorf("%s: %q, want %q", what, l.told, want)
		}
		l.told = nil
	}
	after("none is due", 10*time.Second+time.Millisecond)
	l.set(func() { l.due, l.dropping = true, true })
	after("one is due, and not all is dropped at once", time.Second, "mark", "keep 7", "kept 7 hash", "drop log")
	after("the rest is dropped", time.Second, "drop log")
	l.set(func() { l.dropping = false })
	after("the rest is dropped later", time.Second, "drop log")
	after("nothing is left to drop", 10*time.Second)
	if strings.Contains(said.String(), "level=WARN") {
		t.Errorf("said: %s", &said)
	}
	l.set(func() { l.due, l.kept = true, errors.New("full") })
	after("one that cannot be stored", time.Second, "mark", "keep 7")
	after("a pause", 29*time.Second)
	l.set(func() { l.kept, l.taken = nil, true })
	after("another pod has stored it", time.Second, "mark")
	l.set(func() { l.taken = false })
	after("once it can be stored", 30*time.Second, "mark", "keep 7", "kept 7 hash", "drop log")
	l.set(func() { l.due, l.full = true, errors.New("full") })
	after("a full log", time.Second, "mark", "make space")
	l.set(func() { l.full = nil })
	after("once there is space", 30*time.Second, "mark", "keep 7", "kept 7 hash", "drop log")
	l.set(func() { l.due = true })
	after("without a pause", time.Second, "mark", "keep 7", "kept 7 hash", "drop log")
	if n := strings.Count(said.String(), "storing a snapshot failed; retrying"); n != 3 {
		t.Errorf("%d warnings, want 3: %s", n, &said)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
