package userlimits

import (
	"fmt"
	"testing"

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
	l := New(task.UserLimits{Active: 5}, noUsage{})
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
	open := New(task.UserLimits{}, nil)
	if err := open.Reserve("ann", ""); err != nil || len(open.users) > 0 {
		t.Errorf("without limits: %v, %d accounts", err, len(open.users))
	}
}

func TestARateHasABurst(t *testing.T) {
	for _, tt := range []struct {
		rate        float64
		burst, want int
	}{{0, 0, 0}, {0.1, 0, 1}, {1, 0, 1}, {2.5, 0, 3}, {2.5, 7, 7}, {2.5, -1, 3}, {0, 7, 7}} {
		l := New(task.UserLimits{SubmitRate: tt.rate, SubmitBurst: tt.burst}, nil)
		if got := l.most.SubmitBurst; got != tt.want {
			t.Errorf("rate %v, burst %d: %d at once, want %d", tt.rate, tt.burst, got, tt.want)
		}
	}
}
