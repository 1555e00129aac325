package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A crowd is a TaskReader of many stopped tasks and the kubelet of their pods. Each pod has
// written the same log and ends when ended is closed.
type crowd struct {
	tasks int
	log   []byte // as the API server sends it
	ended chan struct{}

	// Connections that transferred the whole log: to running pods and to ended pods.
	followed, read sync.WaitGroup
}

func newCrowd(tasks int, log []byte) *crowd {
	c := &crowd{tasks: tasks, log: log, ended: make(chan struct{})}
	c.followed.Add(tasks)
	c.read.Add(tasks)
	return c
}

func (c *crowd) tailer(t testing.TB, store Store) *Tailer {
	k8s, err := kubernetes.NewForConfig(&rest.Config{Host: "http://kubelet", Transport: c, QPS: -1})
	must.Succeed(t, err)
	return New(k8s, "default", c, store, slog.New(slog.DiscardHandler))
}

func (c *crowd) Keys() (all []task.Key) {
	for i := range c.tasks {
		all = append(all, task.Key{Kind: task.KindTask, ID: strconv.Itoa(i)})
	}
	return all
}

func (c *crowd) WatchTask(id string) (task.View, <-chan struct{}) { return c.TaskView(id), c.ended }

func (c *crowd) TaskView(id string) task.View {
	phase := task.Running
	select {
	case <-c.ended:
		phase = task.Failed
	default:
	}
	return task.View{
		Record: &task.Record{Submit: task.Submit{ID: id, Task: task.Spec{NumNodes: 1}}, Phase: task.Stopped},
		Jobs:   []*task.Job{{Deleting: true}},
		Pods:   []*task.Pod{{Name: "pod-" + id, UID: "pod-" + id, Phase: phase, Readable: true}},
	}
}

// RoundTrip answers a request for the log of a pod. After the pod has ended, only its last
// lines are available.
func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &crowdBody{Reader: bytes.NewReader(c.log), gone: r.Context().Done(), ended: c.ended, drained: sync.OnceFunc(c.followed.Done)}
	if r.URL.Query().Get("follow") != "true" {
		last := c.log[len(c.log)-10_000:]
		body.Reader = bytes.NewReader(last[bytes.IndexByte(last, '\n')+1:])
		body.drained = sync.OnceFunc(c.read.Done)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
}

// A crowdBody is one connection. A read after the last line shows that the reader has
// consumed all lines.
type crowdBody struct {
	*bytes.Reader
	drained     func()
	gone, ended <-chan struct{}
}

func (b *crowdBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	b.drained()
	select {
	case <-b.ended:
	case <-b.gone:
	}
	return 0, io.EOF
}

func (b *crowdBody) Close() error { return nil }

// A slowStore is a store whose calls block until opened is closed.
type slowStore struct {
	*fakeStore
	opened chan struct{}
}

func (s slowStore) Store(ctx context.Context, name string, about map[string]string, blob []byte) error {
	select {
	case <-s.opened:
		return s.fakeStore.Store(ctx, name, about, blob)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shortLines returns a log of many short lines with at least size bytes.
func shortLines(size int) []byte {
	var log []byte
	at := time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)
	for i := 0; len(log) < size; i++ {
		log = at.Add(time.Duration(i)*10*time.Microsecond).AppendFormat(log, "2006-01-02T15:04:05.000000000Z07:00")
		log = fmt.Appendf(log, " step %d\n", i)
	}
	return log
}

func liveHeap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // no heap has 2^63 bytes
}

// TestArchivingManyLogsAtOnceBoundsMemory checks that stopping many tasks at once does not
// exhaust the memory of the leader. Instead, a shorter part of each log is archived, with a
// note.
func TestArchivingManyLogsAtOnceBoundsMemory(t *testing.T) {
	const limit = 1 << 20
	tasks, most, ending, ended := 256, 128_000_000, endingBytes, endedBytes
	if testing.Short() {
		tasks, most, ending, ended = tasks/8, most/8, ending/8, ended/8
	}
	c := newCrowd(tasks, shortLines(limit+1000))
	s := slowStore{newFakeStore(), make(chan struct{})}
	k := NewArchiver(c.tailer(t, s), c, limit, func() bool { return true })
	k.endingPool, k.endedPool = newBufferPool(ending), newBufferPool(ended)
	before := liveHeap()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	c.followed.Wait()
	full := liveHeap() - before
	close(c.ended)
	c.read.Wait()
	stored := liveHeap() - before
	t.Logf("live heap: %d MB while all logs are buffered, %d MB while they are stored", full/1_000_000, stored/1_000_000)
	if full > most || stored > most {
		t.Errorf("live heap grows by %d and %d bytes, want at most %d", full, stored, most)
	}
	close(s.opened)
	for i := range tasks {
		name := archiveName(strconv.Itoa(i), 0, 1)
		blob := s.await(t, name)
		about, _, err := s.Get(t.Context(), name)
		must.Succeed(t, err)
		dropped, isTail := bytes.CutSuffix(c.log, []byte(blob))
		if !isTail || !bytes.HasSuffix(dropped, []byte("\n")) || len(blob) < limit/10 {
			t.Fatalf("log %d: %d bytes are archived, want the last lines", i, len(blob))
		}
		cut := len(dropped) - bytes.Count(dropped, []byte("\n"))*len(at(1))
		if about[aboutCut] != strconv.Itoa(cut) || about[aboutShort] == "" {
			t.Fatalf("log %d: %v is said, want %d bytes cut, too many logs", i, about, cut)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
}
