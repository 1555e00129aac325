package features

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/pkg/task"
)

// smallDisk mounts a tmpfs and returns its directory. size is the size option of tmpfs, for
// example 24m.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// A nearly full log accepts no submissions and says why, but still works for the tasks that
// it has. The log stays smaller than its disk: JetStream does not survive a full disk.
func TestNearlyFullLogAcceptsOnlyStops(t *testing.T) {
	t.Parallel()
	s := join(t).serve(t, "--nats-listen", "off", "--data-dir", smallDisk(t, "24m"))
	ann := s.as(t, "ann")
	large := `{"volumes":{"/data":"not-there"},"run":"` + strings.Repeat("echo and so on; ", 6000) + `"}`
	var id string
	for range 1000 {
		got := s.post(t, "ann", "/tasks/submit", large)
		if got.code != 200 {
			wantsNearlyFull(t, got)
			if got.header.Get("Retry-After") == "" {
				t.Error("the refusal does not say when to come again")
			}
			break
		}
		id = decode[task.Submitted](t, got).ID
	}
	accepted := len(ann.tasks(t))
	if accepted < 50 || accepted > 250 {
		t.Errorf("%d tasks of 96 KB were accepted on a disk of 24 MiB", accepted)
	}
	wantsNearlyFull(t, s.post(t, "ann", "/volumes/create", `{"name":"data","size":"1Gi"}`))
	if body := string(s.get(t, "", "/readyz").body); !strings.Contains(body, "nearly full") {
		t.Errorf("/readyz says %s", body)
	}
	ann.stop(t, id)
	if got := ann.task(t, id).Phase; got != task.Stopped {
		t.Errorf("the task is %s after a stop", got)
	}
	s.process.Kill()
	ann = s.again(t).as(t, "ann")
	if got := len(ann.tasks(t)); got != accepted {
		t.Errorf("%d tasks after a restart, want %d", got, accepted)
	}
	if got, err := ann.StopAll(t.Context(), false); err != nil || got.Count != accepted-1 {
		t.Errorf("stop all: %+v, %v", got, err)
	}
}

func wantsNearlyFull(t *testing.T, a answer) {
	t.Helper()
	if a.code != 503 || !strings.HasPrefix(a.detail(t), "the command log is nearly full") {
		t.Errorf("got %d %s, want a 503 that says the command log is nearly full", a.code, a.body)
	}
}
