package testkit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// ticksUntil returns how many ticks pass until a limit is spent, with this time between
// ticks and this share of a processor for each thread.
func ticksUntil(t *testing.T, limit, apart time.Duration, share float64) int {
	t.Helper()
	const most = 1000
	ticks := make(chan time.Time, most)
	for range most {
		ticks <- time.Time{}
	}
	var at time.Duration
	m := meter{
		now:   func() time.Time { at += apart; return time.Unix(0, 0).Add(at) },
		share: func() float64 { return share },
	}
	if _, over := m.spend(t.Context(), limit, ticks); !over {
		t.Error("the meter gave up before the limit")
	}
	return most - len(ticks)
}

// On a machine without other load a wait lasts as long as its limit, on a loaded machine up
// to eight times as long.
func TestLimitFollowsTheMachine(t *testing.T) {
	for _, tt := range []struct {
		name  string
		apart time.Duration
		share float64
		ticks int
	}{
		{"a processor for every thread", beat, 1, 20},
		{"two threads for each processor", beat, 0.5, 40},
		{"a hundred threads for each processor", beat, 0.01, 160},
		{"late ticks", time.Second, 1, 6},
		{"late ticks and many threads", time.Second, 0.01, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ticksUntil(t, time.Second, tt.apart, tt.share); got != tt.ticks {
				t.Errorf("a limit of 1s is spent after %d ticks, want %d", got, tt.ticks)
			}
		})
	}
}

func TestUntilSaysWhatItSawLast(t *testing.T) {
	ctx, cancel := WithPatience(t.Context(), time.Millisecond)
	defer cancel()
	err := Until(ctx, "rain", func() (string, bool) { return "a blue sky", false })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "waiting for rain: not within 1ms (") || !strings.HasSuffix(err.Error(), "last seen: a blue sky") {
		t.Errorf("got %v", err)
	}
	if err := Until(ctx, "rain", func() (string, bool) { return "", true }); err != nil {
		t.Errorf("what is there after the limit: %v", err)
	}
}

func TestCancelledPatienceIsNoDeadline(t *testing.T) {
	ctx, cancel := WithPatience(t.Context(), time.Hour)
	cancel()
	if err := Until(ctx, "rain", func() (string, bool) { return "", false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
