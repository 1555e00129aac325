package cache

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestADeletedVolumeIsReleasedByItsTasks(t *testing.T) {
	p := newTestStore(t)
	v1 := volumeKey("1")
	p.apply(create("ann", "1", "data"), applied(v1, "u"), mounting("ann", "a", "data"), mounting("ann", "b", "data"))
	p.apply(task.Command{Resolved: &task.Resolved{ID: "a", Claims: map[string]string{"data": "data-1"}}})
	if p.view("a").Released {
		t.Error("released before the volume was deleted")
	}
	p.apply(task.Command{Delete: &task.Delete{User: "ann", ID: "1", Force: true}})
	if !p.view("a").Released {
		t.Error("not released when the volume was deleted")
	}
	if p.view("b").Released {
		t.Error("a task that was never resolved to it is released")
	}
	p.apply(task.Command{Stop: &task.Stop{User: "ann", ID: "a"}}, task.Command{CleanedUp: &task.CleanedUp{Key: taskKey("a")}}, task.Command{CleanedUp: &task.CleanedUp{Key: v1}})
	if len(p.Store.volumes.mounts) != 0 {
		t.Errorf("mounts of what is gone stay: %v", p.Store.volumes.mounts)
	}
}
