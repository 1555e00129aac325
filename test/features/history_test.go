package features

import (
	"fmt"
	"net/http"
	"testing"

	"k8s-cli/pkg/task"
)

// awaitForgotten waits until a task is no longer found.
func (u *user) awaitForgotten(t *testing.T, id string) {
	t.Helper()
	eventually(t, "task "+id+" is forgotten", func() (string, bool) {
		code := u.get(t, u.name, "/tasks/"+id).code
		return fmt.Sprint(code), code == http.StatusNotFound
	})
}

func TestFinishedTasksExpire(t *testing.T) {
	t.Parallel()
	s := start(t, "--history", "1s") // shorter than the default of --keep-jobs, an hour
	ann := s.as(t, "ann")
	done, stopped := ann.submit(t, "run: true"), ann.submit(t, "run: sleep 600")
	waits := ann.submit(t, "run: true\nvolumes: {/data: not-there}")
	ann.stop(t, stopped)
	ann.awaitForgotten(t, done)
	ann.awaitForgotten(t, stopped)
	if got := ann.tasks(t); len(got) != 1 || got[0] != waits {
		t.Errorf("tasks %q, want %s", got, waits)
	}
	s.process.Kill()
	ann = s.again(t).as(t, "ann")
	if got := ann.tasks(t); len(got) != 1 || got[0] != waits {
		t.Errorf("tasks after a restart %q, want %s", got, waits)
	}
}

// Finished Jobs are deleted as soon as their tasks have left the history.
func TestJobsAreDeletedWithTheHistory(t *testing.T) {
	t.Parallel()
	s := start(t, "--history-tasks", "1")
	ann := s.as(t, "ann")
	first := ann.submit(t, "run: true")
	ann.await(t, first, task.Completed)
	second := ann.submit(t, "run: true")
	ann.await(t, second, task.Completed)
	ann.awaitForgotten(t, first)
	ann.awaitNothing(t, first)
	if got := ann.tasks(t); len(got) != 1 || got[0] != second {
		t.Errorf("tasks %q, want %s", got, second)
	}
}
