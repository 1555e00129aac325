package submission

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
)

// noUsage is the log of a server without tasks and uploads.
type noUsage struct{}

func (noUsage) Usage(string) task.Usage         { return task.Usage{} }
func (noUsage) UploadSize(string, string) int64 { return 0 }
func (noUsage) Submitted(string, string) bool   { return false }

// TestUsageIsForgotten checks that nothing is counted without limits, and that the entries
// of idle users are deleted.
func TestUsageIsForgotten(t *testing.T) {
	l := NewLimits(task.UserLimits{Active: 5}, noUsage{})
	for n := range 3 * maxTracked {
		user := fmt.Sprint("user", n)
		if err := l.Reserve(user, ""); err != nil {
			t.Fatal(err)
		}
		l.Release(user, 1)
	}
	if len(l.users) > maxTracked {
		t.Errorf("there are %d accounts", len(l.users))
	}
	open := NewLimits(task.UserLimits{}, nil)
	if err := open.Reserve("ann", ""); err != nil || len(open.users) > 0 {
		t.Errorf("without limits: %v, %d accounts", err, len(open.users))
	}
}

// TestRateIsPerUser checks when a user may submit again, and that other users are not affected.
func TestRateIsPerUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(task.UserLimits{SubmitRate: 0.01, SubmitBurst: 2}, noUsage{})
		for n, tt := range []struct{ pause, want time.Duration }{{0, 0}, {0, 0}, {0, 100 * time.Second}, {time.Minute, 40 * time.Second}, {40 * time.Second, 0}, {0, 100 * time.Second}} {
			time.Sleep(tt.pause)
			after, err := time.Duration(0), l.Reserve("ann", "")
			if limit, ok := errors.AsType[interface {
				error
				RetryAfter() time.Duration
			}](err); ok {
				after = limit.RetryAfter()
			}
			if after != tt.want || (err == nil) != (tt.want == 0) {
				t.Errorf("submission %d: %v, after %s; want after %s", n, err, after, tt.want)
			}
		}
		if err := l.Reserve("bob", ""); err != nil {
			t.Errorf("another user: %v", err)
		}
	})
}

func TestARateHasABurst(t *testing.T) {
	for _, tt := range []struct {
		rate        float64
		burst, want int
	}{{0, 0, 0}, {0.1, 0, 1}, {1, 0, 1}, {2.5, 0, 3}, {2.5, 7, 7}, {2.5, -1, 3}, {0, 7, 7}} {
		l := NewLimits(task.UserLimits{SubmitRate: tt.rate, SubmitBurst: tt.burst}, nil)
		if got := l.most.SubmitBurst; got != tt.want {
			t.Errorf("rate %v, burst %d: %d at once, want %d", tt.rate, tt.burst, got, tt.want)
		}
	}
}
