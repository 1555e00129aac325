package features

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// awaitSaid waits until a server has logged a text.
func (s *server) awaitSaid(t *testing.T, what string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the server says %q", what), func() (string, bool) {
		return "not yet", strings.Contains(s.process.Said(), what)
	})
}

// A server with a compacted log starts from its last snapshot and knows as much as a server
// that never ended. The submissions of tasks before the snapshot remain available.
func TestServerStartsFromSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, "--history-tasks", "20")
	ann := s.as(t, "ann")
	runs, waits := ann.submit(t, yaml("run", endless)), ann.submit(t, "run: true\nvolumes: {/data: later}")
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.await(t, runs, task.Running)
	bob, many := s.as(t, "bob"), make([]task.Spec, 20)
	for i := range many {
		many[i] = task.Spec{Run: "true # " + strings.Repeat("x", 120<<10), Volumes: map[string]string{"/data": "never"}}
	}
	for i := 0; strings.Count(s.process.Said(), "snapshot stored") < 2; i++ {
		if i == 100 {
			t.Fatal("no two snapshots were stored in 240 MB of submissions")
		}
		if _, err := bob.SubmitAll(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		if _, err := bob.StopAll(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	before := ann.tasks(t)
	s.process.Kill()

	again := s.again(t)
	again.awaitSaid(t, "started from a snapshot")
	ann = again.as(t, "ann")
	if diff := cmp.Diff(before, ann.tasks(t)); diff != "" {
		t.Errorf("tasks (-before +after):\n%s", diff)
	}
	for id, run := range map[string]string{runs: endless, waits: "true"} {
		if spec, err := ann.Spec(t.Context(), id); err != nil || spec.Run != run {
			t.Errorf("task %s was submitted as %+v, %v", id, spec, err)
		}
	}
	ann.awaitBound(t, volume)
	later := ann.create(t, task.Volume{Name: "later", Size: "1Gi"})
	ann.await(t, waits, task.Completed)
	ann.awaitBound(t, later)
}
