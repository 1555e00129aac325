package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestAnOutageOfNATS(t *testing.T) {
	t.Parallel()
	server := natstest.Serve(t)
	folded := &fakeStateMachine{}
	log := follow(t, server.Dial(t), Config{}, folded)
	log.put(t, "before")
	log.waitReadIndex(t)
	server.Down()

	if err := log.sending(t, "during")(); !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "may have been stored") {
		t.Errorf("append while NATS is away: %v", err)
	}
	if _, ok := log.WaitReadIndex(t.Context()); ok {
		t.Error("the log's end is known while NATS is away")
	}
	if age, ok := log.Lag(); ok || age <= 0 {
		t.Errorf("lag: %v, %v", age, ok)
	}

	server.Up(t)
	if v := log.put(t, "after"); v.ID != "after" {
		t.Errorf("verdict after the outage: %+v", v)
	}
	log.waitReadIndex(t)
	natstest.Eventually(t, "the end of the log to be known", func() bool {
		_, ok := log.Lag()
		return ok
	})
	folded.wantSeen(t, "before", "after")
	if n := folded.timesReset(); n != 0 {
		t.Errorf("the log was read anew %d times", n)
	}
}

// Only the first reads of an outage wait, and no longer than readWait.
func TestReadsDuringAnOutageDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadIndex(&logStream{}, nil, false) // nothing answers
		r.markCurrent()
		for i, want := range []time.Duration{readWait, 0, 0} {
			began := time.Now()
			age, ok := r.WaitReadIndex(t.Context())
			if took := time.Since(began); ok || age != readWait || took != want {
				t.Errorf("read %d took %s, want %s; current: %t, age %s", i, took, want, ok, age)
			}
		}
	})
}

// A caller that leaves is no sign of an outage of NATS.
func TestReaderThatLeavesIsNoOutage(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	log := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	log.waitReadIndex(t)
	_ = log.stop() // so that nothing answers the reader
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = log.WaitReadIndex(ctx)
	if age, ok := log.Lag(); !ok {
		t.Errorf("after a reader left, the log's end counts as lost since %v", age)
	}
}

func TestAFullLogRefusesAtOnce(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	log.put(t, "one")
	log.resize(t, int64(log.size(t))+10) //nolint:gosec // some bytes
	_, err := log.Append(t.Context(), natstest.Submission("two"))
	if !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "nothing was stored") {
		t.Fatalf("append to a full log: %v", err)
	}
	log.resize(t, -1)
	if v := log.put(t, "three"); v.Count != 1 {
		t.Errorf("verdict once there is room: %+v", v)
	}
}

func TestALogThatIsNearlyFullSaysSo(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	for range 5 {
		log.put(t, "some")
	}
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("a log without a limit: %v", err)
	}
	counted := log.capacity.bytes.Load()
	log.limit(t, counted*10/8)
	if told := log.capacity.bytes.Load(); told != counted {
		t.Errorf("%d bytes were counted, NATS tells of %d", counted, told)
	}
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("a log that is full to 80 %%: %v", err)
	}
	log.put(t, "more")
	if err := log.CheckCapacity(); !errors.Is(err, problem.Unavailable) {
		t.Errorf("a log that has grown beyond 90 %%: %v", err)
	}
	log.limit(t, -1)
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("once there is room again: %v", err)
	}
}

// Two pods fill a log at once. The log keeps its reserves: tasks leave space for stops, and
// stops leave space for markers and barrier entries, without which compaction is impossible.
func TestAFullLogKeepsItsReserves(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	a := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	b := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	const limit = 4 << 20
	a.limit(t, limit)
	b.waitReadIndex(t)
	submit := natstest.Submission("task")
	submit.Submit.Task.Run = strings.Repeat("x", 10<<10)
	appendUntilFull(t, []*running{a, b}, submit, "only stops and deletions are accepted")
	if got := a.size(t); got < limit*8/10 || got > limit*95/100 {
		t.Errorf("tasks filled %d of %d bytes, want about %.0f %%", got, limit, 100*taskShare)
	}
	stop := task.Command{Stop: &task.Stop{ID: strings.Repeat("y", 1<<10)}}
	appendUntilFull(t, []*running{a, b}, stop, "no command is accepted until entries are removed")
	if got := a.size(t); got < limit*92/100 || got > limit*97/100 {
		t.Errorf("stops filled %d of %d bytes, want about %.0f %%", got, limit, 100*factShare)
	}
	if _, err := a.Append(t.Context(), task.Command{SnapshotMarker: &task.SnapshotMarker{}}); err != nil {
		t.Errorf("a marker in the reserve: %v", err)
	}
	if _, err := b.appendBarrier(natstest.Context(t), b.follower.id()); err != nil {
		t.Errorf("a barrier entry in the reserve: %v", err)
	}
}

// appendUntilFull appends c from 32 callers of each log until the log rejects c with the given text.
func appendUntilFull(t *testing.T, logs []*running, c task.Command, text string) {
	t.Helper()
	var callers sync.WaitGroup
	for i := range 32 * len(logs) {
		callers.Go(func() {
			for {
				_, err := logs[i%len(logs)].Append(t.Context(), c)
				if err == nil {
					continue
				}
				if !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), text) {
					t.Errorf("append to a full log: %v, want %q", err, text)
				}
				return
			}
		})
	}
	callers.Wait()
}

// resize changes the limit of the log's stream.
func (r *running) resize(t *testing.T, bytes int64) {
	t.Helper()
	info, err := r.stream.Info(natstest.Context(t))
	must.Succeed(t, err)
	limited := info.Config
	limited.MaxBytes = bytes
	_, err = r.js.UpdateStream(natstest.Context(t), limited)
	must.Succeed(t, err)
}

// limit changes the limit of the log's stream, and the log learns of it.
func (r *running) limit(t *testing.T, bytes int64) {
	t.Helper()
	r.resize(t, bytes)
	if _, err := r.info(natstest.Context(t)); err != nil { // as every request for the end of the log does
		t.Fatal(err)
	}
}

func (r *running) size(t *testing.T) uint64 {
	t.Helper()
	info, err := r.stream.Info(natstest.Context(t))
	must.Succeed(t, err)
	return info.State.Bytes
}
