package host

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Orphans are buried, and what Run waits for is left to it.
func TestReapLeavesWhatIsWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reaped := make(chan error, 1)
	go func() { reaped <- Reap(ctx, func(int) bool { return false }) }()
	var orphans []int
	var runs errgroup.Group
	for range 50 {
		orphan := exec.Command("true")
		if err := orphan.Start(); err != nil {
			t.Fatal(err)
		}
		orphans = append(orphans, orphan.Process.Pid)
		for range 4 {
			runs.Go(func() error {
				_, err := Run(exec.Command("true"))
				return err
			})
		}
	}
	if err := runs.Wait(); err != nil {
		t.Errorf("Run: %v", err)
	}
	for _, pid := range orphans {
		for isThere(pid) {
			if _, err := Run(exec.Command("true")); err != nil { // its death is a sign to look
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-reaped; err != nil {
		t.Error(err)
	}
}

func isThere(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}
