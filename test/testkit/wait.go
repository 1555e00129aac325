// Package testkit is what the system tests and the tools beside them share: server
// processes, a client of the cluster, requests to a server, nodes of NATS, and waits
// whose limits follow the machine.
package testkit

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

const (
	beat   = 50 * time.Millisecond // between two looks at the machine
	slowed = 8                     // times that a limit lasts at the most
)

// WithPatience returns a context that ends when the limit has passed on a machine
// that keeps up. Time in which more threads want to run than there are processors
// counts by the share of a processor that each gets, and late ticks hardly count, so
// that a starved machine slows tests and fails none.
func WithPatience(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		m := meter{now: time.Now, share: share}
		if took, over := m.spend(ctx, limit, tick.C); over {
			cancel(fmt.Errorf("not within %s (%s by the clock): %w", limit, took.Round(time.Second), context.DeadlineExceeded))
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// A meter measures how much time a machine had for its work.
type meter struct {
	now   func() time.Time
	share func() float64 // of a processor, that a thread gets
}

// spend returns when the limit is spent, or ctx ends. Ticks come once in a beat.
func (m *meter) spend(ctx context.Context, limit time.Duration, ticks <-chan time.Time) (took time.Duration, over bool) {
	began, spent := m.now(), time.Duration(0)
	for last := began; spent < limit; {
		select {
		case <-ticks:
		case <-ctx.Done():
			return m.now().Sub(began), false
		}
		now := m.now()
		spent += worth(now.Sub(last), m.share())
		last = now
	}
	return m.now().Sub(began), true
}

// worth returns how much of the time since the last tick counts, in which a thread got
// a share of a processor.
func worth(elapsed time.Duration, share float64) time.Duration {
	late := max(elapsed-beat, 0)
	return time.Duration(max(share, 1./slowed)*float64(elapsed-late)) + late/slowed
}

// share returns the share of a processor that a thread gets that wants to run, from the
// number of those that do (proc_loadavg(5)); where that is not known, all of one. Ticks
// alone do not tell: a thread that sleeps most of the time is waked in time where
// others starve.
func share() float64 {
	var averages [3]float64
	var running int
	raw, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%g %g %g %d/", &averages[0], &averages[1], &averages[2], &running)
	}
	if err != nil {
		return 1
	}
	return min(1, float64(runtime.NumCPU())/float64(max(running, 1)))
}

// Until waits for what nobody tells: it asks again and again until check is
// satisfied. If ctx ends before, the error says what check saw last.
func Until(ctx context.Context, what string, check func() (state string, ok bool)) error {
	return UntilEvery(ctx, beat, what, check)
}

// UntilEvery is Until for what costs too much, or too little, to be asked once in a beat.
func UntilEvery(ctx context.Context, pause time.Duration, what string, check func() (state string, ok bool)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		state, ok := check()
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last seen: %s", what, context.Cause(ctx), state)
		}
	}
}

// Eventually is Until for a test, with a limit as WithPatience has it.
func Eventually(t testing.TB, limit time.Duration, what string, check func() (state string, ok bool)) {
	t.Helper()
	ctx, cancel := WithPatience(t.Context(), limit)
	defer cancel()
	if err := Until(ctx, what, check); err != nil {
		t.Fatal(err)
	}
}

// Wait waits for something that is told by closing one of these channels.
func Wait(t testing.TB, limit time.Duration, what string, done ...<-chan struct{}) {
	t.Helper()
	ctx, cancel := WithPatience(t.Context(), limit)
	defer cancel()
	if err := wait(ctx, done...); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// wait waits for one of three channels at most.
func wait(ctx context.Context, done ...<-chan struct{}) error {
	var some [3]<-chan struct{}
	copy(some[:], done)
	select {
	case <-some[0]:
	case <-some[1]:
	case <-some[2]:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Closed reports whether a channel is closed.
func Closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
