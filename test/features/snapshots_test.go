package features

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// awaitSaid waits until a server has said something.
func (s *server) awaitSaid(t *testing.T, what string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the server says %q", what), func() (string, bool) {
		return "not yet", strings.Contains(s.process.journal.String(), what)
	})
}

// A server that has taken much starts from its last snapshot, and knows as much
// as one that never ended.
func TestAServerStartsFromASnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, "--history-tasks", "20")
	ann := s.as(t, "ann")
	done, waits := ann.submit(t, "run: true"), ann.submit(t, "run: true\nvolumes: {/data: later}")
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.await(t, done, task.Completed)
	long := "run: 'true # " + strings.Repeat("x", 120<<10) + "'\nvolumes: {/data: never}"
	for i := 0; !strings.Contains(s.process.journal.String(), "snapshot stored"); i++ {
		if i == 1000 {
			t.Fatal("no snapshot was stored in 120 MB of submissions")
		}
		ann.stop(t, ann.submit(t, long))
	}
	before := ann.tasks(t)
	s.process.kill()

	again := s.again(t)
	again.awaitSaid(t, "started from a snapshot")
	ann = again.as(t, "ann")
	if diff := cmp.Diff(before, ann.tasks(t)); diff != "" && ann.task(t, waits).Phase != task.Pending {
		t.Errorf("tasks (-before +after):\n%s", diff)
	}
	ann.awaitBound(t, volume)
	later := ann.create(t, task.Volume{Name: "later", Size: "1Gi"})
	ann.await(t, waits, task.Completed)
	ann.awaitBound(t, later)
}
