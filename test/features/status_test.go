package features

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// The phases of a task with two nodes, while one node waits at a gate.
func TestTaskIsCompletedOnlyWhenAllNodesAre(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	gate := newGate(t, ann.cluster)
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

func TestFailedNodeFailsTheTaskAndEndsItsSiblings(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	gate := newGate(t, ann.cluster)
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
