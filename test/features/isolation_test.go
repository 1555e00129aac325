package features

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// Two users whose labels are equal share nothing, and neither do users whose names look alike.
func TestUsersWithEqualLabelsAreIsolated(t *testing.T) {
	t.Parallel()
	s := start(t)
	one, other := s.as(t, "a@b"), s.as(t, "a-b")
	first, second := one.submit(t, "run: sleep 1; echo one"), other.submit(t, "run: sleep 1; echo other")
	for u, want := range map[*user]string{one: first, other: second} {
		s := u.await(t, want, task.Completed)
		if s.Username != "a-b" || s.Metadata.User != u.name {
			t.Errorf("username %q, user %q, want a-b and %s", s.Username, s.Metadata.User, u.name)
		}
		if got := u.tasks(t); !cmp.Equal(got, []string{want}) {
			t.Errorf("the tasks of %s are %v, want %s", u.name, got, want)
		}
	}
	for _, other := range []string{"A@b", "a@B", "a@b.", "a", "a@b@", "a%40b"} {
		s.get(t, other, "/tasks/"+first).wants(t, 404, "Task "+first+" not found")
		if got := s.as(t, other).tasks(t); len(got) != 0 {
			t.Errorf("the tasks of %s are %v, want none", other, got)
		}
	}
}

func TestAllUsersListsAndStopsEverything(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob, admin := s.as(t, "ann"), s.as(t, "bob"), s.as(t, "admin")
	over := ann.submit(t, "run: true")
	ann.await(t, over, task.Completed)
	nodes := ann.submit(t, "num_nodes: 2\n"+yaml("run", endless))
	waits := bob.submit(t, idle)
	if _, err := bob.CreateVolume(t.Context(), task.Volume{Name: "v", Size: "1Gi", StorageClass: new("nobody-provides")}); err != nil {
		t.Fatal(err)
	}
	ann.await(t, nodes, task.Running)

	all, err := admin.Tasks(t.Context(), true)
	must.Succeed(t, err)
	var got []string
	for _, s := range all {
		got = append(got, s.ID+" of "+s.Metadata.User)
	}
	if diff := cmp.Diff([]string{waits + " of bob", nodes + " of ann", over + " of ann"}, got); diff != "" {
		t.Errorf("all tasks, newest first (-want +got):\n%s", diff)
	}
	if volumes, err := admin.Volumes(t.Context(), true); err != nil || len(volumes) != 1 || volumes[0].Metadata.User != "bob" {
		t.Errorf("all volumes: %+v, %v", volumes, err)
	}
	if got, err := admin.StopAll(t.Context(), false); err != nil || got.Count != 0 {
		t.Errorf("stop all of one who has none: %+v, %v", got, err)
	}
	// The count is of tasks that were not over, not of Jobs.
	if got, err := admin.StopAll(t.Context(), true); err != nil || got != task.NewStopAllResponse(2, true) {
		t.Errorf("stop all of all users: %+v, %v", got, err)
	}
	for id, want := range map[string]task.Phase{over: task.Completed, nodes: task.Stopped} {
		if got := ann.task(t, id); got.Phase != want {
			t.Errorf("after that task %s is %s, want %s", id, got.Phase, want)
		}
	}
	if got := bob.task(t, waits); got.Phase != task.Stopped {
		t.Errorf("after that task %s is %s", waits, got.Phase)
	}
	ann.awaitNothing(t, nodes)
	if len(ann.jobs(t, over)) != 1 {
		t.Error("stop all removed the Job of a task that was over")
	}
}
