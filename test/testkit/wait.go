// Package testkit contains what the system tests and their tools share: server processes, a
// client of the cluster, requests to a server, NATS servers, and waits whose limits follow
// the load of the machine.
package testkit

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

const (
	beat   = 50 * time.Millisecond // between two measurements of the load
	slowed = 8                     // times the limit, at most, that a wait lasts on a loaded machine
)

// WithPatience returns a context that ends when the limit has passed on a machine without
// other load. While more threads are runnable than there are processors, time counts in
// proportion to the share of a processor that each thread gets. Time by which a tick is late
// counts as an eighth. So a loaded machine makes tests slower, but does not make them fail.
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

// A meter measures how much processor time the machine had for the test.
type meter struct {
	now   func() time.Time
	share func() float64 // of a processor that each runnable thread gets
}

// spend returns when the limit is spent or ctx ends. One tick comes each beat.
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

// worth returns how much of the time since the last tick counts, if each runnable thread got
// this share of a processor.
func worth(elapsed time.Duration, share float64) time.Duration {
	late := max(elapsed-beat, 0)
	return time.Duration(max(share, 1./slowed)*float64(elapsed-late)) + late/slowed
}

// share returns the share of a processor that each runnable thread gets, from the number of
// runnable threads (proc_loadavg(5)). Without that number, the share is 1. Late ticks alone
// do not show the load: the scheduler wakes a thread that mostly sleeps in time, even where
// other threads starve.
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

// Until polls check until check is satisfied. Until is for conditions without a
// notification. If ctx ends first, the error contains the last state.
func Until(ctx context.Context, what string, check func() (state string, ok bool)) error {
	return UntilEvery(ctx, beat, what, check)
}

// UntilEvery is Until with another interval between two checks.
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

// Pause waits for d, or until ctx ends. Pause is for what is itself a matter of time, such as the
// duration of a fault.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Eventually is Until for a test, with a limit as in WithPatience.
func Eventually(t testing.TB, limit time.Duration, what string, check func() (state string, ok bool)) {
	t.Helper()
	ctx, cancel := WithPatience(t.Context(), limit)
	defer cancel()
	must.Succeed(t, Until(ctx, what, check))
}

// Wait waits until one of the channels is closed.
func Wait(t testing.TB, limit time.Duration, what string, done ...<-chan struct{}) {
	t.Helper()
	ctx, cancel := WithPatience(t.Context(), limit)
	defer cancel()
	if err := wait(ctx, done...); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// wait waits until one of at most three channels is closed.
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
