package state

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func submitTo(group, user, id string) task.Command {
	c := submit(user, id)
	c.Submit.Group = group
	return c
}

// A stop of a group stops the tasks of its user in the group that are earlier in the log, whatever
// their stage, and no other task.
func TestStopGroup(t *testing.T) {
	s := newTestState(t,
		submitTo("g", "ann", "waiting"), submitTo("g", "ann", "running"), submitTo("g", "ann", "done"),
		submitTo("h", "ann", "other"), submit("ann", "none"), submitTo("g", "bob", "bobs"),
		applied(taskKey("running"), "u"), started("running"), applied(taskKey("done"), "u"), ended("done", task.Completed),
	)
	result, changed := s.fold(stopGroup("ann", "g"))
	if want := []task.Key{taskKey("waiting"), taskKey("running")}; result.Count != 2 || !slices.Equal(changed, want) {
		t.Errorf("stopped %d tasks: %v, want %v", result.Count, changed, want)
	}
	s.fold(submitTo("g", "ann", "later"))
	phases := map[string]task.Phase{}
	for id, r := range s.Tasks {
		phases[id] = r.Phase()
	}
	want := map[string]task.Phase{
		"waiting": task.Stopped, "running": task.Stopped, "done": task.Completed,
		"other": task.Pending, "none": task.Pending, "bobs": task.Pending, "later": task.Pending,
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if again, changed := s.fold(stopGroup("ann", "none")); again.Count != 0 || len(changed) != 0 {
		t.Errorf("a stop of an unknown group stopped %v", changed)
	}
	if late, _ := s.fold(applied(taskKey("waiting"), "u")); late.Rejection != task.RejectedStale {
		t.Errorf("Jobs of a stopped task were accepted: %+v", late)
	}
}

// The group of a task is retained after its Jobs exist, after its end, and in snapshots, and each
// of its events names the group.
func TestATaskKeepsItsGroup(t *testing.T) {
	s := newTestState(t, submitTo("g", "ann", "a"))
	for _, c := range []task.Command{applied(taskKey("a"), "u"), started("a"), ended("a", task.Failed), gone(taskKey("a"))} {
		s.fold(c)
		restored := decoded(t, encoded(t, s.Snapshot()))
		for _, r := range []*CompactRecord{s.Tasks["a"], restored.Tasks["a"], compact(s.Tasks["a"].Record())} {
			if r.Group() != "g" || r.Record().Submit.Group != "g" {
				t.Errorf("after %s, the group is %q", text(c), r.Group())
			}
		}
	}
	events := newTestState(t).State
	for n, c := range []task.Command{submitTo("g", "ann", "a"), applied(taskKey("a"), "u"), ended("a", task.Failed)} {
		for _, e := range events.Fold(entry(uint64(n+2), "w", uint64(n+1), c)).Events {
			if e.Group != "g" {
				t.Errorf("an event of the task lacks the group: %+v", e)
			}
		}
	}
}

// A submission to another group is another request.
func TestTheGroupIsPartOfAKey(t *testing.T) {
	keyed := func(group, id string) task.Command {
		c := submitTo(group, "ann", id)
		c.Submit.Key = "k"
		return c
	}
	s := newTestState(t, keyed("g", "a"))
	if again, _ := s.fold(keyed("g", "b")); again.ID != "a" || again.Rejection != "" {
		t.Errorf("the repeated request: %+v", again)
	}
	for _, group := range []string{"", "h"} {
		if other, _ := s.fold(keyed(group, "c")); other.Rejection != task.RejectedKeyReuse {
			t.Errorf("the key with the group %q: %+v", group, other)
		}
	}
}
