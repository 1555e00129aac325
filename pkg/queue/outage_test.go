package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
)

func TestAnOutageOfNATS(t *testing.T) {
	server := natstest.Serve(t)
	folded := &fakeStateMachine{}
	log := follow(t, server.Dial(t), Config{}, folded)
	log.put(t, "before")
	log.waitReadIndex(t)
	server.Down()

	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := log.Append(ctx, submission("during")); !errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), "may have been stored") {
		t.Errorf("append while NATS is away: %v", err)
	}
	if _, ok := log.WaitReadIndex(t.Context()); ok {
		t.Error("the log's end is known while NATS is away")
	}
	if took := time.Since(began); took > 300*time.Millisecond+readWait+time.Second {
		t.Errorf("both took %v", took)
	}
	began = time.Now()
	for range 1000 {
		if age, ok := log.WaitReadIndex(t.Context()); ok || age <= 0 {
			t.Fatalf("sync while NATS is away: %v, %v", age, ok)
		}
	}
	if took := time.Since(began); took > readWait {
		t.Errorf("a thousand reads waited %v though nobody answers", took)
	}
	if age, ok := log.Lag(); ok || age <= 0 {
		t.Errorf("lag: %v, %v", age, ok)
	}

	server.Up(t)
	if v := log.put(t, "after"); v.ID != "after" {
		t.Errorf("verdict after the outage: %+v", v)
	}
	log.waitReadIndex(t)
	if age, ok := log.Lag(); !ok {
		t.Errorf("still lost since %v", age)
	}
	if diff := cmp.Diff([]string{"before", "after"}, folded.seen()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if n := folded.timesReset(); n != 0 {
		t.Errorf("the log was read anew %d times", n)
	}
}

// A caller that leaves is no sign of an outage of NATS.
func TestReaderThatLeavesIsNoOutage(t *testing.T) {
	server := natstest.Embed(t, t.TempDir())
	log := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	log.waitReadIndex(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = log.WaitReadIndex(ctx)
	if age, ok := log.Lag(); !ok {
		t.Errorf("after a reader left, the log's end counts as lost since %v", age)
	}
}

func TestAFullLogRefusesAtOnce(t *testing.T) {
	log, _ := start(t)
	log.put(t, "one")
	info, err := log.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	full := info.Config
	full.MaxBytes = int64(info.State.Bytes) + 10
	if _, err := log.js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), submission("two"))
	if !errors.Is(err, task.ErrUnavailable) || !strings.Contains(err.Error(), "nothing was stored") {
		t.Fatalf("append to a full log: %v", err)
	}
	full.MaxBytes = -1
	if _, err := log.js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if v := log.put(t, "three"); v.Count != 1 {
		t.Errorf("verdict once there is room: %+v", v)
	}
}

func TestALogThatIsNearlyFullSaysSo(t *testing.T) {
	log, _ := start(t)
	for range 5 {
		log.put(t, "some")
	}
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("a log without a limit: %v", err)
	}
	limit := func(bytes int64) {
		t.Helper()
		info, err := log.stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		full := info.Config
		full.MaxBytes = bytes
		if _, err := log.js.UpdateStream(t.Context(), full); err != nil {
			t.Fatal(err)
		}
		if _, err := log.info(t.Context()); err != nil { // as every request for the end of the log does
			t.Fatal(err)
		}
	}
	counted := log.capacity.bytes.Load()
	limit(counted * 10 / 8)
	if told := log.capacity.bytes.Load(); told != counted {
		t.Errorf("%d bytes were counted, NATS tells of %d", counted, told)
	}
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("a log that is full to 80 %%: %v", err)
	}
	log.put(t, "more")
	if err := log.CheckCapacity(); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("a log that has grown beyond 90 %%: %v", err)
	}
	limit(-1)
	if err := log.CheckCapacity(); err != nil {
		t.Errorf("once there is room again: %v", err)
	}
}
