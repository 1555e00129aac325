package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A fakeStore is a Store in memory that a test can make fail.
type fakeStore struct {
	mu      sync.Mutex
	blobs   map[string][]byte
	about   map[string]map[string]string
	broken  int // number of calls that fail
	changed chan struct{}
}

func newFakeStore() *fakeStore {
	return &fakeStore{blobs: map[string][]byte{}, about: map[string]map[string]string{}, changed: make(chan struct{})}
}

var errFakeStore = errors.New("the shelf is broken")

func (s *fakeStore) fails() error {
	if s.broken > 0 {
		s.broken--
		return errFakeStore
	}
	return nil
}

func (s *fakeStore) Store(_ context.Context, name string, about map[string]string, blob []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(); err != nil {
		return err
	}
	s.blobs[name], s.about[name] = blob, about
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *fakeStore) Get(_ context.Context, name string) (map[string]string, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs[name] == nil {
		return nil, nil, problem.New(problem.NotFound, "none")
	}
	return s.about[name], s.blobs[name], s.fails()
}

func (s *fakeStore) List(context.Context) (map[string]map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.about), s.fails()
}

func (s *fakeStore) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.blobs, name)
	delete(s.about, name)
	return s.fails()
}

func (s *fakeStore) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.blobs))
}

// await waits for a blob.
func (s *fakeStore) await(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), testTimeout)
	defer cancel()
	for {
		s.mu.Lock()
		blob, changed := s.blobs[name], s.changed
		s.mu.Unlock()
		if blob != nil {
			return string(blob)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s is not kept, but %q", name, s.names())
		}
	}
}

// archives runs an archiver for the logs of the fixture until the test ends.
func archives(t *testing.T, w *hubFixture, limit int) *fakeStore {
	t.Helper()
	s := newFakeStore()
	w.store = s
	archivesOn(t, w, limit)
	return s
}

func archivesOn(t *testing.T, w *hubFixture, limit int) {
	t.Helper()
	runs(t, w, NewArchiver(w.Tailer, w.fakeTasks, limit, func() bool { return true }))
}

func runs(t *testing.T, w *hubFixture, k *Archiver) {
	t.Helper()
	w.listen = k.Enqueue
	must.Run(t, k.Run)
}

// awaitStream waits until a connection reads the log.
func (f *hubFixture) awaitStream(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, testTimeout, "a reader of the log", func() (string, bool) {
		now, _, _ := f.streams()
		return "", now > 0
	})
}

func (f *hubFixture) read(t *testing.T, o task.LogOptions) string {
	t.Helper()
	c := cluster{Tailer: f.Tailer}
	out, err := c.tail(t, o)
	if err != nil {
		t.Errorf("read: %v", err)
	}
	return out
}

func TestLogOfADeletedPodIsArchived(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after func(w *hubFixture) // event after the pod has written some lines
	}{
		{"it ends", func(w *hubFixture) { w.over() }},
		{"its task is stopped", func(w *hubFixture) {
			w.set(0, pod(0, task.Running), task.Stopped)
			w.write([]byte("last words"), 1)
			w.end()
			w.set(0, pod(0, task.Failed), task.Stopped)
		}},
		{"somebody deletes its Job", func(w *hubFixture) {
			w.setJob(nil)
			w.write([]byte("last words"), 1)
			w.end()
			w.set(0, pod(0, task.Failed), task.Failed)
		}},
		{"it is gone at once", func(w *hubFixture) {
			w.set(0, pod(0, task.Running), task.Stopped)
			w.awaitStream(t)
			w.end()
			w.set(0, nil, task.Stopped)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newHubFixture(t)
			w.setJob(&task.Job{})
			s := archives(t, w, 8<<20)
			chatter(w, rand.New(rand.NewPCG(7, 8)), 20)
			if got := s.names(); len(got) > 0 {
				t.Fatalf("kept %q while the pod runs", got)
			}
			tt.after(w)
			s.await(t, "a/0")
			w.set(0, nil, task.Stopped)
			if got := w.read(t, task.LogOptions{Follow: true}); got != string(w.written) {
				t.Errorf("%d bytes are kept, want %d", len(got), len(w.written))
			}
		})
	}
}

// A lateStore has a blob from the second request for it.
type lateStore struct {
	*fakeStore
	asked atomic.Int32
}

func (s *lateStore) Get(ctx context.Context, name string) (map[string]string, []byte, error) {
	if s.asked.Add(1) == 1 {
		return nil, nil, problem.New(problem.NotFound, "none")
	}
	return s.fakeStore.Get(ctx, name)
}

// The archiver may store the log of a stopped task a moment after its pod is gone. A reader does not
// wait for the log of a task that never started, nor if the server archives no logs.
func TestALogThatIsAboutToBeArchived(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		started time.Time
		ended   time.Time
		awaits  bool
		want    string
	}{
		{"the task has just ended", time.Now(), time.Now(), true, "last words\n"},
		{"the task ended long ago", time.Now().Add(-time.Hour), time.Now().Add(-time.Hour), true, ""},
		{"the task never started", time.Time{}, time.Now(), true, ""},
		{"the server archives no logs", time.Now(), time.Now(), false, ""},
	} {
		w := newHubFixture(t)
		s := &lateStore{fakeStore: newFakeStore()}
		w.store = s
		if tt.awaits {
			w.AwaitArchive()
		}
		w.view.Record.StartedAt, w.view.Record.UpdatedAt = tt.started, tt.ended
		w.set(0, nil, task.Stopped)
		must.Succeed(t, s.Store(t.Context(), "a/0", map[string]string{aboutPod: "pod-0", aboutCut: "0"}, []byte(at(1)+"last words\n")))
		if got := w.read(t, task.LogOptions{}); got != tt.want {
			t.Errorf("%s: the log is %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOptionsOfAnArchivedLog(t *testing.T) {
	w := newHubFixture(t)
	s := newFakeStore()
	w.store = s
	now := time.Now().UTC().Truncate(time.Second)
	var blob, stamped bytes.Buffer
	for i := range 5 {
		at := now.Add(time.Duration(i-5) * time.Hour)
		fmt.Fprintf(&blob, "%s line %d\n", at.Format("2006-01-02T15:04:05.000000000Z07:00"), i)
		fmt.Fprintf(&stamped, "%s line %d\n", at.Format(time.RFC3339Nano), i)
	}
	w.set(0, nil, task.Completed)
	cut := "[k8s-cli: 17 bytes before this line were not archived]\n"
	for _, tt := range []struct {
		name string
		o    task.LogOptions
		cut  string
		want string
	}{
		{"all", task.LogOptions{}, "0", "line 0\nline 1\nline 2\nline 3\nline 4\n"},
		{"all that is kept", task.LogOptions{Follow: true}, "17", cut + "line 0\nline 1\nline 2\nline 3\nline 4\n"},
		{"the last two", task.LogOptions{Tail: new(int64(2))}, "17", "line 3\nline 4\n"},
		{"none", task.LogOptions{Tail: new(int64(0)), Follow: true}, "17", ""},
		{"just as many", task.LogOptions{Tail: new(int64(5))}, "17", "line 0\nline 1\nline 2\nline 3\nline 4\n"},
		{"more than there are", task.LogOptions{Tail: new(int64(6))}, "17", cut + "line 0\nline 1\nline 2\nline 3\nline 4\n"},
		{"young ones", task.LogOptions{Since: 150 * time.Minute}, "17", "line 3\nline 4\n"},
		{"with times", task.LogOptions{Timestamps: true}, "0", stamped.String()},
		{"from a second on", task.LogOptions{Resume: map[int]time.Time{0: now.Add(-2 * time.Hour)}, Tail: new(int64(1))}, "17", "line 3\nline 4\n"},
		{"of the node", task.LogOptions{Node: new(0)}, "0", "line 0\nline 1\nline 2\nline 3\nline 4\n"},
	} {
		must.Succeed(t, s.Store(t.Context(), "a/0", map[string]string{aboutPod: "pod-0", aboutCut: tt.cut}, blob.Bytes()))
		if got := w.read(t, tt.o); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOnlyTheEndOfALongLogIsArchived(t *testing.T) {
	w := newHubFixture(t)
	w.setJob(&task.Job{})
	s := archives(t, w, 1000)
	for i := range 100 {
		w.write(fmt.Appendf(nil, "line %d", i), 1)
	}
	w.over()
	if blob := s.await(t, "a/0"); len(blob) > 1000 || len(blob) < 950 || !strings.HasSuffix(blob, "line 99\n") {
		t.Errorf("kept %q", blob)
	}
	w.set(0, nil, task.Completed)
	got := w.read(t, task.LogOptions{})
	note, rest, _ := strings.Cut(got, "\n")
	cut := w.written[:len(w.written)-len(rest)]
	if want := fmt.Sprintf("[k8s-cli: %d bytes in %d lines before this line were not archived]", len(cut), bytes.Count(cut, []byte("\n"))); note != want || !strings.HasSuffix(string(w.written), rest) {
		t.Errorf("%q, want %q before the last lines", got, want)
	}
}

// TestFollowerReadsOnInTheArchivedLog checks that a follower whose pod disappears continues
// with the archived log.
func TestFollowerReadsOnInTheArchivedLog(t *testing.T) {
	w := newHubFixture(t)
	s := newFakeStore()
	w.store = s
	gone := make(chan struct{})
	c := serve(t, w.fakeTasks, func(rw http.ResponseWriter, _ string, n int) {
		if n > 1 {
			http.Error(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
			return
		}
		send(rw, at(1)+"one\n"+at(2)+"two\n")
		<-gone
		panic(http.ErrAbortHandler)
	})
	c.store = s
	out := newWatcher()
	var g group
	g.join(t, &hubFixture{fakeTasks: w.fakeTasks, Tailer: c.Tailer}, task.LogOptions{}, out)
	out.await(t, len("one\ntwo\n"))
	_ = s.Store(t.Context(), "a/0", map[string]string{aboutPod: "pod-0", aboutCut: "7"}, []byte(at(1)+"one\n"+at(2)+"two\n"+at(3)+"three\n"))
	w.set(0, nil, task.Stopped)
	close(gone)
	g.check(t, []byte("one\ntwo\nthree\n"))
}

func TestAStoreThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newHubFixture(t)
	w.setJob(&task.Job{})
	s := newFakeStore()
	s.broken = 2 // the list and the first log
	w.store = s
	archivesOn(t, w, 1000)
	w.write([]byte("x"), 1)
	w.over()
	s.await(t, "a/0")
}

// TestAnUnreadableLogIsTriedAgain checks that an unreadable log of an ended pod is retried
// later, while the worker reads other logs.
func TestAnUnreadableLogIsTriedAgain(t *testing.T) {
	w := newHubFixture(t)
	w.setJob(&task.Job{})
	var requests atomic.Int32
	c := serve(t, w.fakeTasks, func(rw http.ResponseWriter, _ string, n int) {
		requests.Store(int32(n))
		if n == 1 {
			http.Error(rw, "lstat /var/log/pods/x: no such file or directory", http.StatusInternalServerError)
			return
		}
		send(rw, at(1)+"one\n")
	})
	s := newFakeStore()
	c.store = s
	k := NewArchiver(c.Tailer, w.fakeTasks, 1000, func() bool { return true })
	w.set(0, pod(0, task.Completed), task.Completed)
	k.reset(map[string]string{})
	k.archive(t.Context(), podLogs(w.TaskView("a"), 0)[0])
	if n := requests.Load(); n != 1 || len(s.names()) > 0 {
		t.Errorf("%d requests at once, stored %q", n, s.names())
	}
	runs(t, &hubFixture{fakeTasks: w.fakeTasks, Tailer: c.Tailer}, k)
	if got := s.await(t, "a/0"); !strings.HasSuffix(got, "one\n") {
		t.Errorf("stored %q", got)
	}
}

// TestArchiverLoadsTheArchivedLogs checks that a new leader does not archive a log
// again, and that the archived logs of expired tasks are removed.
func TestArchiverLoadsTheArchivedLogs(t *testing.T) {
	w := newHubFixture(t)
	w.write([]byte("x"), 1)
	w.over()
	s := newFakeStore()
	w.store = s
	for _, name := range []string{"a/0", "b/0", "b/1"} {
		_ = s.Store(t.Context(), name, map[string]string{aboutPod: "pod-0"}, []byte("x"))
	}
	k := NewArchiver(w.Tailer, w.fakeTasks, 1000, func() bool { return true })
	must.Succeed(t, k.loadArchived(t.Context()))
	if k.startTail(podLog{"a/0", "a", pod(0, task.Completed)}) {
		t.Error("a log that is kept is read again")
	}
	names := k.expired()
	slices.Sort(names)
	if !slices.Equal(names, []string{"b/0", "b/1"}) {
		t.Errorf("forgotten %q", names)
	}
	for _, name := range names {
		k.drop(t.Context(), name)
	}
	if got := s.names(); !slices.Equal(got, []string{"a/0"}) || len(k.expired()) > 0 {
		t.Errorf("left %q", got)
	}
	k.current = func() bool { return false }
	if _ = s.Store(t.Context(), "c/0", nil, nil); len(k.expired()) > 0 {
		t.Error("something is dropped though the scene is not complete")
	}
}
