package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
	"k8s-cli/test/testkit/safe"
)

// smallDisk returns a directory on a small disk of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no small disk can be mounted here (that takes root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// embedMonitored runs an embedded server on dir with its store monitor, and a log.
func embedMonitored(t *testing.T, dir string, machine StateMachine) (*natsserver.Server, *running, *safe.Text) {
	t.Helper()
	said := &safe.Text{}
	e := natstest.Start(t, natsserver.Config{Dir: dir, SyncAlways: true, Logger: slog.New(slog.NewTextHandler(said, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { _ = e.Run(ctx) })
	t.Cleanup(func() { cancel(); watch.Wait() })
	return e, follow(t, natstest.Connect(t, e), Config{SingleWriter: true, Store: e}, machine), said
}

// A full disk breaks the store. The store reports the failure and accepts only entries that
// are on disk; once the disk has free space, the store works again.
func TestStoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "16m")
	folded := &fakeStateMachine{}
	e, log, said := embedMonitored(t, dir, folded)
	log.put(t, "before")
	free := must.Fill(t, dir)

	accepted := []string{"before"}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	refused := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			id := fmt.Sprint("during", n)
			if _, err := log.Append(ctx, natstest.Submission(id)); err != nil {
				refused <- err
				return
			}
			accepted = append(accepted, id)
		}
	}()
	natstest.Eventually(t, "the store to be found broken", func() bool { return e.StoreErr() != nil })
	leave()
	if err := <-refused; !errors.Is(err, problem.Unavailable) {
		t.Fatalf("append to a full disk: %v", err)
	}
	_, err := log.Append(t.Context(), natstest.Submission("refused"))
	if !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "the store of the command log is broken (no space left on device)") {
		t.Errorf("append to a broken store: %v", err)
	}
	log.waitReadIndex(t) // the store only takes no writes

	free()
	natstest.Eventually(t, "the store to take commands again", func() bool { return e.StoreErr() == nil })
	log.put(t, "after")
	accepted = append(accepted, "after")
	seen := folded.seen()
	if diff := cmp.Diff(accepted, slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return !slices.Contains(accepted, id) })); diff != "" {
		t.Errorf("accepted commands in the log (-want +got):\n%s", diff)
	}
	if len(seen) > len(accepted)+1 || slices.Contains(seen, "refused") {
		t.Errorf("the log holds %d commands, %d were accepted and one was in flight", len(seen), len(accepted))
	}
	if n := folded.timesReset(); n != 0 {
		t.Errorf("the log was read anew %d times", n)
	}
	for _, text := range []string{"the store of the command log is broken", "accepts commands again"} {
		natstest.Eventually(t, "one message that "+text, func() bool { return strings.Count(said.String(), text) == 1 })
	}
}
