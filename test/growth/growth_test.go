// Package growth shows that neither the log nor the memory of a server grows with the number
// of commands that the server ever accepted: only the history counts.
package growth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/events"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
	"k8s-cli/test/testkit/safe"
)

var (
	commands = 90_000  // commands that are folded
	history  = 1_000   // tasks that the history has room for
	least    = 1 << 19 // bytes by which the log grows before a snapshot is due
)

const (
	users    = 256             // submit at once
	perTask  = 5               // commands for each task
	patience = 5 * time.Minute // a test that waits longer hangs
)

// A pod is the part of a server that works without a cluster.
type pod struct {
	*cache.Store
	*queue.Log
	events *events.Stream
	stop   func() error
}

func begin(t *testing.T, server *natsserver.Server, logger *slog.Logger) *pod {
	t.Helper()
	nc, err := server.Connect()
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	log, err := queue.Open(t.Context(), nc, queue.Config{Logger: logger, Store: server, AppendTimeout: patience})
	must.Succeed(t, err)
	settings := events.Config{Embedded: true}
	settings.Logger = logger
	published, err := events.New(nc, log, settings)
	must.Succeed(t, err)
	p := &pod{Store: cache.New(), Log: log, events: published}
	p.stop = must.Run(t, func(ctx context.Context) error { return log.Run(ctx, p.Store) })
	must.Succeed(t, log.WaitCaughtUp(t.Context()))
	return p
}

// live appends what happens to a task from its submission to its end. As in a server, a full
// log accepts no submission until the log is compacted, and what a full log rejects is repeated.
func (p *pod) live(ctx context.Context, id string) error {
	user := "user-" + id[len(id)-1:]
	for _, c := range []task.Command{
		{Submit: &task.Submit{ID: id, User: user, Image: "image", Key: "key-" + id, Task: task.Spec{Run: "true", Envs: map[string]string{"ID": id}}}},
		{Applied: &task.Applied{Key: task.Key{Kind: task.KindTask, ID: id}, UIDs: []string{"uid-" + id}}},
		{Started: &task.Started{ID: id, Nodes: []task.Node{{Phase: task.Running, Job: id}}}},
		{Ended: &task.Ended{ID: id, Phase: task.Completed, Nodes: []task.Node{{Phase: task.Completed, Job: id}}}},
		{CleanedUp: &task.CleanedUp{Key: task.Key{Kind: task.KindTask, ID: id}}},
	} {
		err := error(problem.LogFull)
		for wait := c.Submit != nil; errors.Is(err, problem.LogFull); wait = true {
			if wait && until(ctx, "room in the log", func() bool { return p.CheckCapacity() == nil }) != nil {
				return fmt.Errorf("task %s has no room: %w", id, err)
			}
			var v task.Result
			if v, err = p.Append(ctx, c); v.Rejection != "" {
				return fmt.Errorf("task %s: %+v", id, v)
			}
		}
		if err != nil {
			return fmt.Errorf("task %s: %w", id, err)
		}
	}
	return nil
}

// forget keeps the history short, as the leader does, until ctx ends.
func (p *pod) forget(ctx context.Context) {
	var f task.ExpireHistory
	expired := func() bool {
		f, _ = p.Expired(time.Time{}, 0, history, 1000)
		return len(f.IDs) > 0
	}
	for until(ctx, "expired tasks", expired) == nil {
		_, _ = p.Append(ctx, task.Command{ExpireHistory: &f})
	}
}

// hash returns the hash of the current state of the store.
func (p *pod) hash(t *testing.T) (seq uint64, hash string) {
	t.Helper()
	if _, err := p.Append(t.Context(), task.Command{SnapshotMarker: &task.SnapshotMarker{}}); err != nil {
		t.Fatal(err)
	}
	s, ok := p.Snapshot()
	if !ok {
		t.Fatal("no snapshot was taken")
	}
	return s.Seq(), s.Hash()
}

func TestLogAndMemoryAreBoundedByTheHistory(t *testing.T) {
	if testing.Short() {
		commands, history, least = commands/10, history/10, least/10
	}
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), SyncAlways: true, SyncInterval: time.Hour})
	must.Succeed(t, err)
	t.Cleanup(server.Close)
	said := &safe.Text{}
	logger := slog.New(slog.NewTextHandler(said, nil))
	streams := readStreams(t, server)
	streams.limit(t, int64(least))
	leader, standby := begin(t, server, logger), begin(t, server, logger)

	work, cancel := context.WithCancel(t.Context())
	var leading sync.WaitGroup
	leading.Go(func() { leader.forget(work) })
	leading.Go(func() { _ = leader.RunSnapshots(work, leader) })
	leading.Go(func() {
		_ = leader.events.Publisher(leader, func() events.Replayer { return cache.NewReplayer() }).Run(work)
	})
	began := time.Now()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range users {
		clients.Go(func() {
			for n := next.Add(1); int(n) <= commands/perTask && !t.Failed(); n = next.Add(1) {
				if err := leader.live(t.Context(), fmt.Sprint("task", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	took := time.Since(began)
	await(t, "a history within its limit", func() bool {
		f, _ := leader.Expired(time.Time{}, 0, history, 1)
		return len(f.IDs) == 0
	})
	await(t, "a log that is cut", func() bool { return streams.first(t, "LOG") > 1 && !leader.SnapshotDue() })
	cancel()
	leading.Wait()

	await(t, "the standby at the end of the log", func() bool {
		_, ok := standby.WaitReadIndex(t.Context())
		return ok
	})
	seq, want := leader.hash(t)
	log, snapshots := streams.bytes(t, "LOG"), streams.bytes(t, "OBJ_SNAPSHOTS")
	_ = leader.stop()
	_ = standby.stop()

	before := heap()
	began = time.Now()
	restarted := begin(t, server, logger)
	ready := time.Since(began)
	memory := heap() - before
	s, ok := restarted.Snapshot()
	if !ok || s.Seq() != seq || s.Hash() != want {
		t.Errorf("the pod that started from a snapshot has another state than the one that folded all")
	}
	if tasks, _ := restarted.TaskRows(query.List{Tasks: query.Tasks{AllUsers: true}}); len(tasks) != history {
		t.Errorf("%d tasks are answered for, the history has room for %d", len(tasks), history)
	}
	if text := said.String(); !strings.Contains(text, "started from a snapshot") || strings.Contains(text, "level=ERROR") {
		t.Errorf("what the pods said:\n%s", text)
	}
	// For each task of the history, two snapshots hold its record. Until the next snapshot
	// is due, the log holds its commands twice; see Log.SnapshotDue.
	if most := int64(history)*8<<10 + 8*int64(least); log+snapshots > most {
		t.Errorf("the log has %d bytes and its snapshots %d, more than %d", log, snapshots, most)
	}
	t.Logf("%d commands in %s; %d snapshots; log %d KiB, snapshots %d KiB, heap of a restarted pod %d KiB for %d tasks, ready after %s",
		commands, took.Round(time.Millisecond), strings.Count(said.String(), "snapshot stored"), log>>10, snapshots>>10, memory>>10, history, ready.Round(time.Millisecond))
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no machine has 2^63 bytes
}

func await(t *testing.T, what string, reached func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must.Succeed(t, until(ctx, what, reached))
}

// until polls reached, for conditions without a notification.
func until(ctx context.Context, what string, reached func() bool) error {
	return testkit.UntilEvery(ctx, 10*time.Millisecond, what, func() (string, bool) { return "", reached() })
}

// streams reads how much NATS stores.
type streams struct{ jetstream.JetStream }

func readStreams(t *testing.T, server *natsserver.Server) streams {
	t.Helper()
	nc, err := server.Connect()
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(patience))
	must.Succeed(t, err)
	return streams{js}
}

func (s streams) info(t *testing.T, name string) *jetstream.StreamInfo {
	t.Helper()
	stream, err := s.Stream(t.Context(), name)
	must.Succeed(t, err)
	return stream.CachedInfo()
}

func (s streams) bytes(t *testing.T, name string) int64 {
	return int64(s.info(t, name).State.Bytes) //nolint:gosec // no disk has 2^63 bytes
}

func (s streams) first(t *testing.T, name string) uint64 { return s.info(t, name).State.FirstSeq }

// limit creates the log's stream with a size limit, as an operator might. A snapshot is due
// at a share of that limit.
func (s streams) limit(t *testing.T, least int64) {
	t.Helper()
	_, err := s.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "LOG", Subjects: []string{"log"}, Discard: jetstream.DiscardNew, MaxBytes: 8 * least, MaxMsgSize: 1 << 20,
	})
	must.Succeed(t, err)
}
