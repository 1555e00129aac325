package features

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A server that is killed in the middle of its work has lost nothing after a restart, and
// does nothing twice.
func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := start(t)
	gate := newGate(t, s.cluster)
	ann := s.as(t, "ann")
	const script = "\nenvs: {GATE: %s}\nrun: wget -qO- $GATE/$NODE_RANK/%s; echo done"
	named := func(name string) string { return "name: " + name + fmt.Sprintf(script, gate.url, name) }

	done := ann.submit(t, "run: echo done")
	failed := ann.submit(t, "run: exit 9")
	stopped := ann.submit(t, idle)
	ann.stop(t, stopped)
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, volume)
	removed := ann.create(t, task.Volume{Name: "removed", Size: "1Gi"})
	ann.deleteVolume(t, removed)
	ann.await(t, done, task.Completed)
	ann.await(t, failed, task.Failed)
	runs := ann.submit(t, "num_nodes: 2\n"+named("runs"))
	gate.await(t, "/0/runs", 1)
	gate.await(t, "/1/runs", 1)
	before := map[string]task.Status{}
	for _, id := range []string{done, failed, stopped} {
		before[id] = ann.task(t, id)
	}

	ids := []string{runs, stopped, failed, done}
	for i := range 8 { // the server is killed while it applies these tasks
		ids = append([]string{ann.submit(t, named(fmt.Sprint("late", i)))}, ids...)
	}
	s.process.Kill()

	again := s.again(t).as(t, "ann")
	if diff := cmp.Diff(ids, again.tasks(t)); diff != "" {
		t.Errorf("tasks (-accepted +listed):\n%s", diff)
	}
	for id, want := range before {
		if got := again.task(t, id); got.Phase != want.Phase || !got.CreatedAt.Equal(want.CreatedAt) {
			t.Errorf("task %s was %s, now it is %s", id, sketch(want), sketch(got))
		}
	}
	if v := again.volume(t, volume); v.Phase != task.VolumeBound {
		t.Errorf("the volume is %s", v.Phase)
	}
	if got, err := again.Volumes(t.Context(), false); err != nil || len(got) != 1 {
		t.Errorf("the volumes are %+v, %v", got, err)
	}
	gate.opens()
	for _, id := range ids[:9] {
		again.await(t, id, task.Completed)
	}
	for rank := range 2 {
		if path := fmt.Sprintf("/%d/runs", rank); gate.count(path) != 1 {
			t.Errorf("node %d of the task that ran was run %d times", rank, gate.count(path))
		}
	}
	for i := range 8 {
		if path := fmt.Sprintf("/0/late%d", i); gate.count(path) != 1 {
			t.Errorf("%s was run %d times", path, gate.count(path))
		}
	}
	if jobs, pods := len(s.jobs(t, "")), len(s.pods(t, "")); jobs != 12 || pods != 12 {
		t.Errorf("there are %d Jobs and %d pods, want 12 each", jobs, pods)
	}
	if got := again.log(t, done, client.LogOptions{}); got != "done\n" {
		t.Errorf("the log of the task that was done: %q", got)
	}
	for id, want := range before {
		if got := again.task(t, id); got.Phase != want.Phase {
			t.Errorf("in the end task %s is %s, before it was %s", id, sketch(got), sketch(want))
		}
	}
}

// The next server sees what happened to a task while no server ran.
func TestTaskEndsWhileNoServerRuns(t *testing.T) {
	t.Parallel()
	s := start(t)
	gate := newGate(t, s.cluster)
	ann := s.as(t, "ann")
	id := ann.submit(t, "envs: {GATE: "+gate.url+"}\nrun: wget -qO- $GATE; exit 5")
	gate.await(t, "/", 1)
	waits := ann.submit(t, idle)
	s.process.Kill()
	gate.opens()
	eventually(t, "the Job has failed", func() (string, bool) {
		job := s.jobs(t, id)[0]
		return fmt.Sprintf("%+v", job.Status), job.Status.Failed == 1
	})
	again := s.again(t).as(t, "ann")
	if got := again.await(t, id, task.Failed); got.Metadata.Message != "exit code 5" {
		t.Errorf("the task is %s", sketch(got))
	}
	again.wantPhase(t, waits, task.Pending, "after the restart")
}
