package submit

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
)

func panicking(w *world, verb, resource string) {
	w.cluster.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { panic("poison") })
}

func TestAPanicWhileATaskIsCreatedFailsIt(t *testing.T) {
	w := newWorld(t)
	panicking(w, "create", "jobs")
	w.submit("a", 1)
	if _, err := w.attempt(t.Context(), taskKey("a")); err == nil {
		t.Error("a panic is no error")
	}
	if v := w.picture.TaskView("a"); v.Phase != task.Failed || v.Reason != task.ReasonInternal {
		t.Errorf("the task is %s (%s)", v.Phase, v.Reason)
	}
}

func TestAPanicAfterATaskWasCreatedFailsIt(t *testing.T) {
	w := newWorld(t)
	w.watch()
	w.submit("a", 2)
	w.must("a", "applied")
	w.await("a", "Jobs", func(v task.View) bool { return v.Jobs[0] != nil && v.Jobs[1] != nil })
	panicking(w, "patch", "jobs")
	if _, err := w.attempt(t.Context(), taskKey("a")); err == nil {
		t.Error("a panic is no error")
	}
	if got := w.log.facts(); !slices.Contains(got, "ended") {
		t.Errorf("facts %q", got)
	}
	if v := w.picture.TaskView("a"); v.Phase != task.Failed || v.Reason != task.ReasonInternal {
		t.Errorf("the task is %s (%s)", v.Phase, v.Reason)
	}
}
