package logs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// A hubFixture is a task of one node with a fake kubelet.
type hubFixture struct {
	*kubelet
	*fakeTasks
	*Tailer
}

func newHubFixture(t *testing.T) *hubFixture {
	t.Helper()
	w := &hubFixture{kubelet: newKubelet(), fakeTasks: newFakeTasks(1)}
	w.Tailer = tailerOf(t, w.fakeTasks, w.kubelet)
	w.set(0, pod(0, task.Running), task.Running)
	return w
}

// over ends the container, its pod and its task.
func (f *hubFixture) over() {
	f.set(0, pod(0, task.Completed), task.Completed)
	f.end()
}

// A watcher hashes what is written to it. A test can wait for an amount of data.
type watcher struct {
	mu      sync.Mutex
	hash    hash.Hash
	size    int
	changed chan struct{}
	stalls  chan struct{} // if not nil, Write blocks until stalls is closed
}

func newWatcher() *watcher {
	return &watcher{hash: sha256.New(), changed: make(chan struct{})}
}

func (w *watcher) Write(p []byte) (int, error) {
	if w.stalls != nil {
		<-w.stalls
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hash.Write(p)
	w.size += len(p)
	close(w.changed)
	w.changed = make(chan struct{})
	return len(p), nil
}

func (w *watcher) await(t *testing.T, size int) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), testTimeout)
	defer cancel()
	for {
		w.mu.Lock()
		got, changed := w.size, w.changed
		w.mu.Unlock()
		if got >= size {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%d bytes came of %d", got, size)
		}
	}
}

// A group is a group of followers of one task.
type group struct {
	all []*watcher
	g   sync.WaitGroup
}

func (g *group) follow(t *testing.T, w *hubFixture, o task.LogOptions) *watcher {
	out := newWatcher()
	g.join(t, w, o, out)
	return out
}

func (g *group) join(t *testing.T, w *hubFixture, o task.LogOptions, out *watcher) {
	o.Follow = true
	g.all = append(g.all, out)
	g.g.Go(func() {
		if err := w.Tail(context.Background(), "a", o, bufio.NewWriter(out)); err != nil {
			t.Errorf("follow: %v", err)
		}
	})
}

func (g *group) await(t *testing.T, size int) {
	t.Helper()
	for _, w := range g.all {
		w.await(t, size)
	}
}

// check waits for the end and compares the output of each follower with want.
func (g *group) check(t *testing.T, want []byte) {
	t.Helper()
	g.g.Wait()
	sum := sha256.Sum256(want)
	for i, w := range g.all {
		if !bytes.Equal(w.hash.Sum(nil), sum[:]) {
			t.Errorf("follower %d got %d bytes, which are not the %d that were written", i, w.size, len(want))
		}
	}
}

// chatter makes the container write lines of all kinds.
func chatter(w *hubFixture, r *rand.Rand, lines int) {
	for i := range lines {
		var line []byte
		switch r.IntN(20) {
		case 0: // an empty line
		case 1:
			line = []byte("10%\r20%\r100%")
		case 2:
			line = make([]byte, r.IntN(2000))
			for i := range line {
				if line[i] = byte(r.IntN(256)); line[i] == '\n' {
					line[i] = 0
				}
			}
		case 3:
			line = []byte("2025-10-05T12:00:00.000000001Z node-0 | x")
		default:
			line = fmt.Appendf(nil, "line %d of many, as a program writes them", i)
		}
		if r.IntN(max(lines/3, 1)) == 0 {
			line = bytes.Repeat([]byte("x"), 300_000)
		}
		later := time.Duration(r.IntN(3)) * time.Duration(r.IntN(2_000_000))
		if r.IntN(5) == 0 {
			later = -time.Duration(r.IntN(900_000_000))
		}
		w.write(line, later)
	}
}

// TestFollowersShareAStream starts many followers before the pod writes anything and while
// the pod writes. All followers get the same bytes, even after a broken connection and a
// log rotation. All followers except the late ones share one connection to the API server.
func TestFollowersShareAStream(t *testing.T) {
	followers, late := 500, 20
	if testing.Short() {
		followers, late = 50, 5
	}
	w := newHubFixture(t)
	before := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(1, 2))
	var g group
	for range followers - late {
		g.follow(t, w, task.LogOptions{})
	}
	chatter(w, r, 300)
	g.await(t, len(w.written))
	now, _, total := w.streams()
	t.Logf("%d followers: %d streams at once, %d in all; %d goroutines more; %d bytes each", followers-late, now, total, runtime.NumGoroutine()-before, len(w.written))
	if now != 1 || total != 1 {
		t.Errorf("%d followers have %d streams, %d in all, want 1", followers-late, now, total)
	}
	for range late {
		g.follow(t, w, task.LogOptions{})
	}
	g.await(t, len(w.written))
	w.breaks(1)
	chatter(w, r, 200)
	g.await(t, len(w.written))
	w.rotate()
	chatter(w, r, 200)
	g.await(t, len(w.written))
	w.rotate()
	w.breaks(1)
	chatter(w, r, 100)
	g.await(t, len(w.written))
	w.awaitOneStream(t)
	if _, most, total := w.streams(); total > 3+late+followers/10 {
		t.Errorf("in the end %d streams at once, %d in all", most, total)
	}
	w.over()
	g.check(t, w.written)
}

// TestLateFollowersShareAStream checks that followers that begin with some of the last
// lines also join the shared stream.
func TestLateFollowersShareAStream(t *testing.T) {
	w := newHubFixture(t)
	var g group
	chatter(w, rand.New(rand.NewPCG(3, 4)), 50)
	for range 50 {
		g.follow(t, w, task.LogOptions{Tail: new(int64(0))})
	}
	w.awaitShared(t, 50)
	begun := len(w.written)
	chatter(w, rand.New(rand.NewPCG(5, 6)), 50)
	g.await(t, len(w.written)-begun)
	w.awaitOneStream(t)
	w.over()
	g.check(t, w.written[begun:])
}

// TestResumedFollowersShareTheStream checks that a follower that resumes a log after a break
// needs no connection of its own. The lines come from an existing hub or from a new hub.
func TestResumedFollowersShareTheStream(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first task.LogOptions // options of the earlier follower
	}{
		{"with one from the beginning", task.LogOptions{}},
		{"with one who read on", task.LogOptions{Resume: map[int]time.Time{0: newKubelet().at.Add(33 * time.Second)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newHubFixture(t)
			for i := range 40 {
				w.write(fmt.Appendf(nil, "line %d", i), time.Second)
			}
			from := w.at.Add(-9 * time.Second)
			var want []byte
			for i := 30; i < 40; i++ {
				want = fmt.Appendf(want, "line %d\n", i)
			}
			var first, g group
			first.follow(t, w, tt.first)
			w.awaitShared(t, 1)
			for range 20 {
				g.follow(t, w, task.LogOptions{Resume: map[int]time.Time{0: from}, Tail: new(int64(1))})
			}
			g.await(t, len(want))
			w.write([]byte("more"), 1)
			g.await(t, len(want)+len("more\n"))
			if _, _, total := w.streams(); total != 1 {
				t.Errorf("%d streams, want 1", total)
			}
			w.over()
			g.check(t, append(want, "more\n"...))
			first.g.Wait()
		})
	}
}

// TestASlowFollowerFallsOutAndComesBack checks that a follower that reads nothing delays no
// other follower and misses no line.
func TestASlowFollowerFallsOutAndComesBack(t *testing.T) {
	t.Parallel()
	w := newHubFixture(t)
	var g group
	slow := newWatcher()
	slow.stalls = make(chan struct{})
	g.join(t, w, task.LogOptions{}, slow)
	fast := g.follow(t, w, task.LogOptions{})
	line := bytes.Repeat([]byte("y"), 9999)
	for range 3 * hubSize / len(line) {
		w.write(line, time.Microsecond)
	}
	fast.await(t, len(w.written))
	close(slow.stalls)
	slow.await(t, len(w.written))
	for range 10 {
		w.write([]byte("z"), time.Microsecond)
	}
	w.over()
	g.check(t, w.written)
}

// TestTheLastFollowerEndsTheStream checks that the hub ends with its last follower, and the
// connection with the hub.
func TestTheLastFollowerEndsTheStream(t *testing.T) {
	w := newHubFixture(t)
	w.write([]byte("x"), 1)
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	for range 3 {
		out := newWatcher()
		g.Go(func() { _ = w.Tail(ctx, "a", task.LogOptions{Follow: true}, bufio.NewWriter(out)) })
		out.await(t, 2)
	}
	cancel()
	g.Wait()
	if len(w.byUID()) > 0 {
		t.Error("there is a hub without a follower")
	}
}

// awaitOneStream waits until the followers have closed all connections but one.
func (f *hubFixture) awaitOneStream(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, testTimeout, "a single stream", func() (string, bool) {
		now, _, _ := f.streams()
		return fmt.Sprintf("%d streams", now), now == 1
	})
}

// awaitShared waits until n followers read from the hub.
func (f *hubFixture) awaitShared(t *testing.T, n int) {
	t.Helper()
	testkit.Eventually(t, testTimeout, "followers that share a stream", func() (string, bool) {
		f.hubs.mu.Lock()
		h := f.hubs.byUID["pod-0"]
		f.hubs.mu.Unlock()
		joined := 0
		if h != nil {
			h.mu.Lock()
			joined = len(h.cursors)
			h.mu.Unlock()
		}
		return fmt.Sprintf("%d, want %d", joined, n), joined == n
	})
}

func (f *hubFixture) byUID() map[string]*hub {
	f.hubs.mu.Lock()
	defer f.hubs.mu.Unlock()
	return f.hubs.byUID
}

// TestTheLastLinesAreWholeLines checks tails with long lines, whose pieces the kubelet
// counts as lines.
func TestTheLastLinesAreWholeLines(t *testing.T) {
	w := newHubFixture(t)
	long := strings.Repeat("x", 300_000)
	for _, line := range []string{"one", long, "three", long, "five"} {
		w.write([]byte(line), 1)
	}
	for _, tt := range []struct {
		tail int64
		want string
	}{
		{0, ""},
		{1, "five\n"},
		{2, long + "\nfive\n"},
		{3, "three\n" + long + "\nfive\n"},
		{4, long + "\nthree\n" + long + "\nfive\n"},
		{5, "one\n" + long + "\nthree\n" + long + "\nfive\n"},
		{9, "one\n" + long + "\nthree\n" + long + "\nfive\n"},
	} {
		if got := w.read(t, task.LogOptions{Tail: &tt.tail}); got != tt.want {
			t.Errorf("the last %d lines: %d bytes, want %d", tt.tail, len(got), len(tt.want))
		}
	}
}
