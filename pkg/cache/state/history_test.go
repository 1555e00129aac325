package state

import (
	"testing"

	"k8s-cli/pkg/task"
)

func forget(ids ...string) task.Command {
	return task.Command{ExpireHistory: &task.ExpireHistory{IDs: ids}}
}

func TestOnlyCleanedUpTasksExpire(t *testing.T) {
	for _, tt := range []struct {
		name    string
		history []task.Command
		kept    bool
	}{
		{"that waits", pendingA, true},
		{"that runs", runningA, true},
		{"that was stopped", stoppedA, true},
		{"that ended", endedA, true},
		{"that was stopped and is gone", append(history(stoppedA...), gone(taskKey("a"))), false},
		{"that ended and is gone", append(history(endedA...), gone(taskKey("a"))), false},
	} {
		t.Run("a task "+tt.name, func(t *testing.T) {
			w := newTestState(t, tt.history...)
			result, changed := w.fold(forget("a", "b"))
			if kept := w.Tasks["a"] != nil; kept != tt.kept || (len(changed) == 0) != tt.kept || (result.Count == 0) != tt.kept {
				t.Errorf("kept %v, verdict %+v, changed %v", kept, result, changed)
			}
		})
	}
}

func TestOnlyCleanedUpVolumesExpire(t *testing.T) {
	keyed := func(id string) task.Command {
		c := create("ann", id, "data")
		c.Create.Key = "k"
		return c
	}
	w := newTestState(t, keyed("a"), create("ann", "b", "models"), create("ann", "c", "data"), remove("ann", "a"), remove("ann", "b"), gone(volumeKey("a")))
	if result, _ := w.fold(keyed("d")); result.ID != "a" {
		t.Errorf("a repeated creation of a volume that was deleted since: %+v", result)
	}
	w.fold(task.Command{ExpireHistory: &task.ExpireHistory{Volumes: []string{"a", "b", "c", "none"}}})
	if w.Volumes["a"] != nil || w.Volumes["b"] == nil || w.Volumes["c"] == nil {
		t.Errorf("volumes %v", w.Volumes)
	}
	if result, _ := w.fold(keyed("d")); result.ID != "a" {
		t.Errorf("a repeated creation of a volume that was forgotten since: %+v", result)
	}
}
