package state

import (
	"fmt"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// A stop that the client repeats with its key has the result of the first, and stops nothing else.
func TestARepeatedStopHasTheFirstResult(t *testing.T) {
	stopAll := task.Command{StopAll: &task.StopAll{User: "ann", Key: "k"}}
	w := newTestState(t)
	for _, id := range []string{"a", "b"} {
		w.foldAt(noon, time.Time{}, submit("ann", id))
	}
	if v := w.foldAt(noon, time.Time{}, stopAll); v.Count != 2 {
		t.Fatalf("the stop has the result %+v", v)
	}
	w.foldAt(noon, time.Time{}, submit("ann", "later"))
	w.State = decoded(t, encoded(t, w.Snapshot()))
	if v := w.foldAt(noon, time.Time{}, stopAll); v.Count != 2 || w.Tasks["later"].Record().Phase.Over() {
		t.Errorf("the repeated stop has the result %+v, and the later task is %s", v, w.Tasks["later"].Record().Phase)
	}
	for name, other := range map[string]task.Command{
		"another user": {StopAll: &task.StopAll{User: "bob", Key: "k"}},
		"without key":  {StopAll: &task.StopAll{User: "bob"}},
	} {
		if v := w.foldAt(noon, time.Time{}, other); v.Count != 0 || v.Rejection != "" {
			t.Errorf("%s: the result %+v", name, v)
		}
	}
	for name, other := range map[string]task.Command{
		"a group":    {StopAll: &task.StopAll{User: "ann", Group: "g", Key: "k"}},
		"one task":   {Stop: &task.Stop{User: "ann", ID: "later", Key: "k"}},
		"a deletion": {Delete: &task.Delete{User: "ann", ID: "v", Key: "k"}},
	} {
		if v := w.foldAt(noon, time.Time{}, other); v.Rejection != task.RejectedKeyReuse {
			t.Errorf("%s with the same key: the result %+v", name, v)
		}
	}
	if v := w.foldAt(noon.Add(task.KeyLifetime+time.Second), time.Time{}, stopAll); v.Count != 1 {
		t.Errorf("after the life of the key, the stop has the result %+v", v)
	}
}

func TestARepeatedDeletionSucceeds(t *testing.T) {
	w := newTestState(t)
	w.foldAt(noon, time.Time{}, task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi"}}})
	deletion := func(id string) task.Command { return task.Command{Delete: &task.Delete{User: "ann", ID: id, Key: "k"}} }
	if v := w.foldAt(noon, time.Time{}, deletion("other")); v.Rejection != task.RejectedNotFound {
		t.Errorf("the deletion of an unknown volume has the result %+v", v)
	}
	for range 2 { // a rejected command does not use its key
		if v := w.foldAt(noon, time.Time{}, deletion("v")); v.Rejection != "" || v.ID != "v" {
			t.Errorf("the result %+v", v)
		}
	}
}

func TestKeysOfStopsAreBounded(t *testing.T) {
	w := newTestState(t)
	for i := range maxAnswered + 10 {
		w.foldAt(noon, time.Time{}, task.Command{StopAll: &task.StopAll{User: "ann", Key: fmt.Sprint(i)}})
	}
	if n := len(w.answered); n != maxAnswered {
		t.Errorf("%d keys are remembered", n)
	}
}
