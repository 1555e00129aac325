package submit

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
)

func panicking(w *testCluster, verb, resource string) {
	w.cluster.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { panic("poison") })
}

func TestAPanicWhileATaskIsCreatedFailsIt(t *testing.T) {
	w := newTestCluster(t)
	panicking(w, "create", "jobs")
	w.submit("a", 1)
	if _, err := w.attempt(t.Context(), taskKey("a")); err == nil {
		t.Error("a panic is no error")
	}
	if v := w.store.TaskView("a"); v.Phase != task.Failed || v.Reason != task.ReasonInternal {
		t.Errorf("the task is %s (%s)", v.Phase, v.Reason)
	}
}

func TestAPanicAfterATaskWasCreatedFailsIt(t *testing.T) {
	w := newTestCluster(t)
	w.watch()
	w.submit("a", 2)
	w.must("a", "applied")
	w.await("a", "Jobs", func(v task.View) bool { return v.Jobs[0] != nil && v.Jobs[1] != nil })
	panicking(w, "patch", "jobs")
	if _, err := w.attempt(t.Context(), taskKey("a")); err == nil {
		t.Error("a panic is no error")
	}
	if got := w.log.Facts(); !slices.Contains(got, "ended") {
		t.Errorf("facts %q", got)
	}
	if v := w.store.TaskView("a"); v.Phase != task.Failed || v.Reason != task.ReasonInternal {
		t.Errorf("the task is %s (%s)", v.Phase, v.Reason)
	}
}

func TestAPanicHoldsUpNoOthers(t *testing.T) {
	w := newTestCluster(t)
	w.config.Workers = 1
	w.cluster.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName() == "train-poison" {
			panic("poison")
		}
		return false, nil, nil
	})
	w.failing("get", "jobs", -1, apierrors.NewServiceUnavailable("later")) // so that the cleanup never finishes
	w.submit("poison", 1)
	w.submit("a", 1)
	w.run()
	w.await("poison", "end", func(v task.View) bool { return v.Phase == task.Failed && v.Reason == task.ReasonInternal })
	w.await("a", "UID", func(v task.View) bool { return v.UIDs != nil })
	w.submit("b", 3)
	w.await("b", "UIDs", func(v task.View) bool { return v.UIDs != nil })
}

func TestAPanicWhileAVolumeIsCreatedFailsIt(t *testing.T) {
	w := newTestCluster(t)
	panicking(w, "create", "persistentvolumeclaims")
	w.create()
	if _, err := w.attempt(t.Context(), volumeKey("v")); err == nil {
		t.Error("a panic is no error")
	}
	if v := w.store.VolumeView("v"); !v.Rejected || v.Reason != task.ReasonInternal {
		t.Errorf("the volume is %+v", v.VolumeRecord)
	}
}
