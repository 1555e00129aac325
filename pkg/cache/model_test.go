package cache

import (
	"fmt"
	"testing"

	"k8s-cli/pkg/cache/eventring"
	"k8s-cli/pkg/task"
)

// A reason that only the cluster shows is reported once; a reason that the log contains is not
// reported.
func TestProgressThatTheClusterShows(t *testing.T) {
	ring := eventring.New()
	m := &model{progress: ring}
	first, _ := ring.EventsNow()
	record := &task.Record{Submit: task.Submit{ID: "a", User: "ann"}, Phase: task.Pending, UIDs: []string{"u"}}
	item := &taskItem{id: "a"}
	waits := func(reason string) {
		view := task.View{Record: record, Jobs: make([]*task.Job, 1), Pods: []*task.Pod{{Phase: task.Pending, Reason: reason, Message: "because"}}}
		m.reportProgress(item, view)
	}
	for _, reason := range []string{"", "Unschedulable", "Unschedulable", "ImagePullBackOff", "", "ImagePullBackOff"} {
		waits(reason)
	}
	record.Phase = task.Stopped
	waits("Killed")
	text := ""
	events, _, _, _, _ := ring.Events(first, 100)
	for _, e := range events {
		text += fmt.Sprintf("%s %s %s: %s; ", e.Type, e.Status, e.Reason, e.Message)
		if e.ID != (task.EventID{}) || e.Time.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if want := "progress pending Unschedulable: because; progress pending ImagePullBackOff: because; progress pending ImagePullBackOff: because; "; text != want {
		t.Errorf("told %s", text)
	}
}
