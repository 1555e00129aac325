package logs

import (
	"testing"
	"time"
)

// TestFollowPause checks that a kubelet that does not answer is requested less and less
// often.
func TestFollowPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 3: time.Second, 4: 2 * time.Second, 6: 8 * time.Second, 8: 30 * time.Second, 1000: 30 * time.Second,
	} {
		if got := followPause(failures); got != want {
			t.Errorf("after %d failures the pause is %s, want %s", failures, got, want)
		}
	}
}
