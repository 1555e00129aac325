package blob

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/memlog"
	"k8s-cli/test/testkit/must"
)

var sum = strings.Repeat("a", 64)

func stored(user, sum, object string) task.Command {
	return task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: object, Size: 1}}
}

// A fakeUploads is an upload store.
type fakeUploads map[string]bool

func (u fakeUploads) List(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(u)), nil
}

func (u fakeUploads) Remove(_ context.Context, names ...string) error {
	for _, name := range names {
		delete(u, name)
	}
	return nil
}

func (u fakeUploads) RemoveTorn(context.Context, time.Time) error { return nil }

func newUploadSweeper(store uploadStore, l *memlog.Log, retention time.Duration) *sweeper {
	s := newSweeper(store, l.Store.UploadObjects, l, retention)
	s.expire = func(ctx context.Context, now time.Time) error { return expireIdle(ctx, l.Store, l, now, retention) }
	return s
}

func TestIdleUploadsAreDeleted(t *testing.T) {
	t.Parallel()
	const retention = 2 * time.Hour
	l := memlog.New()
	l.Add(
		t, stored("ann", sum, "ann/1"),
		task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Files: "http://server", Task: task.Spec{
			Name: "train", Run: "true", Uploads: map[string]string{"/data": sum},
		}}},
		task.Command{Admitted: &task.Admitted{IDs: []string{"a"}}},
	)
	now := time.Now()
	l.Add(t, stored("ann", strings.Repeat("b", 64), "ann/2"))
	store := fakeUploads{"ann/1": true, "ann/2": true, "ann/lost": true}
	sweeper := newUploadSweeper(store, l, retention)
	sweep := func(now time.Time, want ...string) {
		t.Helper()
		l.Now = func() time.Time { return now }
		must.Succeed(t, sweeper.sweep(t.Context(), now))
		if left := slices.Sorted(maps.Keys(store)); !slices.Equal(left, want) {
			t.Errorf("left %q, want %q", left, want)
		}
	}
	sweep(now, "ann/1", "ann/2", "ann/lost")
	l.Add(t, stored("ann", sum, "ann/3"))
	store["ann/3"], store["ann/new"] = true, true
	sweep(now.Add(time.Minute), "ann/1", "ann/2", "ann/3", "ann/lost", "ann/new") // ann/3 replaces ann/1
	sweep(now.Add(2*time.Minute), "ann/2", "ann/3", "ann/lost", "ann/new")
	sweep(now.Add(50*time.Minute), "ann/2", "ann/3", "ann/lost", "ann/new")
	sweep(now.Add(62*time.Minute), "ann/2", "ann/3", "ann/new") // no upload of the log for more than an hour
	if facts := l.Facts(); len(facts) != 0 {
		t.Errorf("facts %q", facts)
	}
	sweep(now.Add(5*retention/4), "ann/2", "ann/3")
	sweep(now.Add(5*retention/4+time.Minute), "ann/3") // a task needs ann/3
	if facts := l.Facts(); !slices.Equal(facts, []string{"delete_uploads"}) {
		t.Errorf("facts %q", facts)
	}
	l.Add(t, task.Command{Stop: &task.Stop{User: "ann", ID: "a"}})
	sweep(now.Add(9*retention/4), "ann/3") // ann/3 was used until the end of its task
	sweep(now.Add(5*retention), "ann/3")
	sweep(now.Add(5*retention + time.Minute))
	if facts := l.Facts(); !slices.Equal(facts, []string{"delete_uploads"}) {
		t.Errorf("facts %q", facts)
	}
	l.Unknown = true
	store["ann/late"] = true
	if err := sweeper.sweep(t.Context(), now.Add(24*time.Hour)); !errors.Is(err, errNoReadIndex) || len(store) != 1 {
		t.Errorf("while the log's end is unknown: %v, left %v", err, store)
	}
}

// An index that is being rebuilt from the log misses everything for a moment.
func TestASweepDuringARebuildRemovesNothing(t *testing.T) {
	t.Parallel()
	store, known := fakeUploads{"ann/1": true}, map[string]bool{"ann/1": true}
	sweeper := newSweeper(store, func() map[string]bool { return known }, memlog.New(), time.Hour)
	for _, now := range []map[string]bool{known, {}, known, {}, known} {
		known = now
		if err := sweeper.sweep(t.Context(), time.Now()); err != nil || len(store) != 1 {
			t.Fatalf("%v, left %v", err, store)
		}
	}
}

// A store that fails is retried, and so is a log whose end is unknown.
func TestUploadsAreSwept(t *testing.T) { synctest.Test(t, sweepsUploads) }

type failingUploads struct {
	fakeUploads
	mu  sync.Mutex
	err error
}

func (u *failingUploads) List(ctx context.Context) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return nil, u.err
	}
	return u.fakeUploads.List(ctx)
}

func sweepsUploads(t *testing.T) {
	l := memlog.New()
	l.Now = time.Now
	l.Add(t, stored("ann", sum, "ann/1"))
	store := &failingUploads{fakeUploads: fakeUploads{"ann/1": true}, err: errors.New("away")}
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- newUploadSweeper(store, l, 10*time.Second).run(ctx, slog.New(slog.NewTextHandler(&said, nil)))
	}()
	time.Sleep(21 * time.Second)
	synctest.Wait()
	if facts := l.Facts(); !slices.Equal(facts, []string{"delete_uploads"}) || len(store.fakeUploads) != 1 {
		t.Errorf("facts %q, %d objects while the store is away", facts, len(store.fakeUploads))
	}
	if !strings.Contains(said.String(), "away") {
		t.Errorf("said: %s", &said)
	}
	store.mu.Lock()
	store.err = nil
	store.mu.Unlock()
	time.Sleep(20 * time.Second) // the pod that saw the upload first may still append its command
	synctest.Wait()
	if len(store.fakeUploads) != 0 {
		t.Errorf("%d objects of no upload", len(store.fakeUploads))
	}
	said.Reset()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || said.Len() > 0 {
		t.Errorf("it ended with %v and said %s", err, &said)
	}
}
