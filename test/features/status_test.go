package features

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// The phases of a task with two nodes, one of which waits at a gate.
func TestTaskIsCompletedOnlyWhenAllNodesAre(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann, gate := ann, newGate(t, ann.cluster)
	id := ann.submit(t, "num_nodes: 2\nenvs: {GATE: "+gate.url+"}\n"+yaml("run", `
if [ $NODE_RANK = 1 ]; then wget -qO- $GATE; fi
`))
	gate.await(t, "/", 1)
	half := ann.awaitWhere(t, id, "with one node that succeeded", func(s task.Status) bool { return s.Metadata.Succeeded == 1 })
	if half.Phase != task.Running || half.Metadata.Running != 1 {
		t.Errorf("while one node runs the task is %s", sketch(half))
	}
	gate.opens()
	whole := ann.await(t, id, task.Completed)
	if whole.Metadata.Succeeded != 2 || whole.Metadata.Running != 0 || whole.Metadata.Reason != "" {
		t.Errorf("in the end the task is %s", sketch(whole))
	}
	if !whole.UpdatedAt.After(half.UpdatedAt) || whole.CreatedAt != half.CreatedAt {
		t.Errorf("created %s then %s, updated %s then %s", half.CreatedAt, whole.CreatedAt, half.UpdatedAt, whole.UpdatedAt)
	}
	for rank, n := range whole.Metadata.Nodes {
		if n.Rank != rank || n.Phase != task.Completed || n.ExitCode == nil || *n.ExitCode != 0 || n.Host == "" || n.Pod == "" || n.StartedAt == nil || n.FinishedAt == nil {
			t.Errorf("node %d is %+v", rank, n)
		}
	}
}

// A task is running once its first node runs, even if another node waits. All nodes pull the
// same image, so the test needs a cluster without capacity for the second node.
func TestTaskIsRunningOnceOneNodeIs(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "num_nodes: 2\nresources: {cpus: 1.1}\n"+yaml("run", endless)) // the cluster's node has 2
	s := ann.awaitWhere(t, id, "with a running node", func(s task.Status) bool { return s.Metadata.Running == 1 })
	if s.Phase != task.Running || s.Metadata.Pending != 1 {
		t.Errorf("the task is %s, want running with one node pending", sketch(s))
	}
	ann.stop(t, id)
}

func TestFailedNodeFailsTheTaskAndEndsItsSiblings(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann, gate := ann, newGate(t, ann.cluster)
	id := ann.submit(t, "num_nodes: 3\nenvs: {GATE: "+gate.url+"}\n"+yaml("run", `
case $NODE_RANK in
0) exit 0 ;;
1) wget -qO- $GATE/1; exit 3 ;;
2) wget -qO- $GATE/2 & `+strings.ReplaceAll(endless, "\n", "\n   ")+` ;;
esac
`))
	gate.await(t, "/1", 1)
	gate.await(t, "/2", 1)
	ann.awaitWhere(t, id, "with one node that succeeded", func(s task.Status) bool { return s.Metadata.Succeeded == 1 })
	gate.opens()
	got := ann.await(t, id, task.Failed)
	if m := got.Metadata; m.Succeeded != 1 || m.Failed != 2 || m.Message != "node 1: exit code 3" {
		t.Errorf("the task is %s", sketch(got))
	}
	type end struct {
		Phase  task.Phase
		Reason string
		Code   int
	}
	var ends []end
	for _, n := range got.Metadata.Nodes {
		ends = append(ends, end{n.Phase, n.Reason, *n.ExitCode})
	}
	if n := got.Metadata.Nodes[2]; n.Message != "ended because node 1 failed" || !strings.HasPrefix(n.Hint, "Check why the other node failed") {
		t.Errorf("the node that was ended says %q and hints %q", n.Message, n.Hint)
	}
	want := []end{{task.Completed, "", 0}, {task.Failed, "Error", 3}, {task.Failed, task.ReasonSibling, 137}}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	ann.awaitJobs(t, id, 2) // the Job of the node that still ran is deleted
	eventually(t, "no pod of node 2", func() (string, bool) {
		pods := ann.pods(t, id)
		return pods[len(pods)-1].Name, len(pods) == 2
	})
	if again := ann.task(t, id); !cmp.Equal(got, again) {
		t.Errorf("later the task has changed (-before +after):\n%s", cmp.Diff(got, again))
	}
}

func TestStoppedTaskLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	id := ann.submit(t, "num_nodes: 2\n"+yaml("run", endless))
	ann.awaitWhere(t, id, "with two running nodes", func(s task.Status) bool { return s.Metadata.Running == 2 })
	ann.stop(t, id)
	if s := ann.task(t, id); s.Phase != task.Stopped || s.Metadata.Reason != "" {
		t.Errorf("right after the stop the task is %s", sketch(s))
	}
	ann.awaitNothing(t, id)
	// The server may learn later that the last pod, which had ended, is deleted.
	s := ann.awaitWhere(t, id, "stopped, and so are its nodes", func(s task.Status) bool {
		m := s.Metadata
		return s.Phase == task.Stopped && m.Running+m.Pending+m.Succeeded+m.Failed == 0 &&
			!slices.ContainsFunc(m.Nodes, func(n task.Node) bool { return n.Phase != task.Stopped || n.ExitCode != nil })
	})
	ann.stop(t, id) // a second stop changes nothing
	if again := ann.task(t, id); !cmp.Equal(s, again) {
		t.Errorf("the second stop changed the task (-before +after):\n%s", cmp.Diff(s, again))
	}
}

// A stopped task receives SIGTERM and can clean up. A task that ignores SIGTERM ends
// nevertheless.
func TestStoppedTaskReceivesSIGTERM(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann, gate := ann, newGate(t, ann.cluster)
	gate.opens()
	tidy := ann.submit(t, "envs: {GATE: "+gate.url+"}\n"+yaml("run", "trap 'wget -qO- $GATE/tidy; exit 0' TERM\necho begun\nsleep 3600 &\nwait\n"))
	deaf := ann.submit(t, yaml("run", "trap '' TERM\necho begun\nwhile :; do sleep 1; done\n"))
	for _, id := range []string{tidy, deaf} {
		ann.follow(t, id, client.LogOptions{}).awaitText(t, "begun\n")
		ann.stop(t, id)
	}
	gate.await(t, "/tidy", 1)
	ann.awaitNothing(t, tidy)
	ann.awaitNothing(t, deaf)
}

func TestStoppingAFinishedTaskChangesNothing(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	done, failed := ann.submit(t, "run: echo done"), ann.submit(t, "run: exit 1")
	for id, phase := range map[string]task.Phase{done: task.Completed, failed: task.Failed} {
		before := ann.await(t, id, phase)
		got, err := ann.Stop(t.Context(), id)
		if want := task.NewStopResponse(id); err != nil || got != want {
			t.Errorf("stop of a %s task: %+v, %v, want %+v", phase, got, err, want)
		}
		after := ann.await(t, id, phase)
		before.UpdatedAt = after.UpdatedAt // the log may contain the end later than the cluster shows it
		if !cmp.Equal(before, after) {
			t.Errorf("the stop changed a %s task (-before +after):\n%s", phase, cmp.Diff(before, after))
		}
		if len(ann.jobs(t, id)) != 1 {
			t.Errorf("the stop removed the Job of a %s task", phase)
		}
	}
	if got := ann.log(t, done, client.LogOptions{}); got != "done\n" {
		t.Errorf("log after the stop: %q", got)
	}
}

func TestSetupAndRunAreTwoScripts(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		name, file string
		phase      task.Phase
		log        string
		message    string
	}{
		{"exit 0 in setup does not skip run", "setup: |\n  echo setup\n  exit 0\nrun: echo run", task.Completed, "setup\nrun\n", ""},
		{"a failing setup fails the task with its code", "setup: |\n  echo setup\n  exit 42\nrun: echo run", task.Failed, "setup\n", "exit code 42"},
		{"a setup that ends with a failing command fails the task", "setup: |\n  echo setup\n  false\nrun: echo run", task.Failed, "setup\n", "exit code 1"},
		{"the code of run is that of the task", "run: exit 255", task.Failed, "", "exit code 255"},
		{"a task may have a setup alone", "setup: echo setup", task.Completed, "setup\n", ""},
		{"both start in the working directory", "workdir: /var/log\nsetup: pwd; cd /\nrun: pwd", task.Completed, "/var/log\n/var/log\n", ""},
		{"a working directory that is missing fails the task", "workdir: /nowhere\nrun: pwd", task.Failed, "", "exit code"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			log := ann.log(t, id, client.LogOptions{})
			s := ann.await(t, id, tt.phase)
			if log != tt.log && (tt.log != "" || tt.phase == task.Completed) {
				t.Errorf("log %q, want %q", log, tt.log)
			}
			if !strings.HasPrefix(s.Metadata.Message, tt.message) || tt.message == "" && s.Metadata.Message != "" {
				t.Errorf("message %q, want %q", s.Metadata.Message, tt.message)
			}
		})
	}
}

// A task fails if a user deletes one of its Jobs by hand. The task does not start again.
func TestTaskWhoseJobWasRemovedByHandFails(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	id := ann.submit(t, yaml("run", endless))
	ann.await(t, id, task.Running)
	background := metav1.DeletePropagationBackground
	if err := ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), ann.jobs(t, id)[0].Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	ann.awaitExplained(t, id, task.Failed, explanation{task.ReasonDeleted, "^its Job was deleted from the cluster, not by 'k8s-cli jobs stop'$", "^Submit the task again"})
	ann.awaitNothing(t, id)
}
