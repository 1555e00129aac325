package state

import (
	"testing"

	"k8s-cli/pkg/task"
)

// The URL for notifications stays when the submission is dropped, and in snapshots.
func TestURLOfNotificationsStays(t *testing.T) {
	const url = "https://hooks.example.com/x"
	c := submit("ann", "a")
	c.Submit.Task.EventCallback = url
	w := newTestState(t, c, applied(taskKey("a"), "u"), started("a"), task.Command{Ended: &task.Ended{ID: "a", Phase: task.Completed}})
	restored := decoded(t, encoded(t, w.Snapshot()))
	for what, s := range map[string]*State{"the state": w.State, "its snapshot": restored} {
		if r := s.Tasks["a"].Record(); r.Phase != task.Completed || r.Submit.Task.EventCallback != url || r.Submit.Task.Run != "" {
			t.Errorf("%s has the phase %s and the task %+v", what, r.Phase, r.Submit.Task)
		}
	}
}
