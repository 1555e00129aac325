package features

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// A user cannot read, stop or delete tasks of another user, even if the names look alike:
// the tasks do not exist for that user.
func TestTasksOfOtherUsersAreNotFound(t *testing.T) {
	t.Parallel()
	s := start(t)
	const owner = "a@b"
	ann := s.as(t, owner)
	first := ann.submit(t, yaml("run", endless))
	volume, err := ann.CreateVolume(t.Context(), task.Volume{Name: "data", Size: "1Gi"})
	if err != nil {
		t.Fatal(err)
	}
	ann.await(t, first, task.Running)
	for _, other := range []string{"bob", "a-b", "A@b", "a@B", "a@b.", "a", "a@b@", "a%40b"} {
		t.Run(other, func(t *testing.T) {
			for _, path := range []string{"GET /tasks/", "GET /tasks/ /spec", "GET /tasks/ /logs", "POST /tasks/ /stop"} {
				method, path := route(path, first)
				s.send(t, method, other, path, nil).wants(t, 404, "Task "+first+" not found")
			}
			for _, path := range []string{"GET /volumes/", "DELETE /volumes/"} {
				method, path := route(path, volume.ID)
				s.send(t, method, other, path, nil).wants(t, 404, "Volume "+volume.ID+" not found")
			}
			bob := s.as(t, other)
			if got := bob.tasks(t); len(got) != 0 {
				t.Errorf("the list has %v", got)
			}
			if got, err := bob.Volumes(t.Context(), false); err != nil || len(got) != 0 {
				t.Errorf("the list of volumes has %v, %v", got, err)
			}
			if got, err := bob.StopAll(t.Context(), false); err != nil || got.Count != 0 {
				t.Errorf("stop all: %+v, %v", got, err)
			}
		})
	}
	if got := ann.task(t, first); got.Phase != task.Running {
		t.Errorf("after all this the task is %s", sketch(got))
	}
	if _, err := ann.Volume(t.Context(), volume.ID); err != nil {
		t.Errorf("after all this the volume: %v", err)
	}
	if got := s.get(t, " "+owner+"\t", "/tasks/"+first); got.code != http.StatusOK {
		t.Errorf("the owner with blanks around: %d", got.code)
	}
}

// route splits "METHOD PATH" or "METHOD PATH SUFFIX", with the id between PATH and SUFFIX.
func route(text, id string) (method, path string) {
	var parts [3]string
	n := 0
	for _, r := range text {
		if r == ' ' {
			n++
			continue
		}
		parts[n] += string(r)
	}
	return parts[0], parts[1] + id + parts[2]
}

// Two users whose labels are equal share nothing.
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
	if err != nil {
		t.Fatal(err)
	}
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
