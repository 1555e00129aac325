package task

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// viewFixture returns the view of an applied task. Each node is described by the phase of
// its Job and the phase of its pod; "-" means none.
func viewFixture(p Phase, nodes ...string) View {
	v := View{Record: &Record{
		Submit: Submit{ID: "a", User: "ann", Task: Spec{Name: "train", NumNodes: len(nodes)}},
		Phase:  p, UIDs: make([]string, len(nodes)), CreatedAt: noon, UpdatedAt: second(1),
	}}
	for rank, words := range nodes {
		job, pod, _ := strings.Cut(words, " ")
		v.Jobs, v.Pods = append(v.Jobs, nil), append(v.Pods, nil)
		if job != "-" {
			v.Jobs[rank] = &Job{Name: fmt.Sprint("job", rank), Rank: rank, Phase: Phase(job)}
		}
		if pod != "-" {
			v.Pods[rank] = &Pod{Name: fmt.Sprint("pod", rank), Rank: rank, Phase: Phase(pod)}
		}
	}
	return v
}

func TestCurrentPhase(t *testing.T) {
	for _, tt := range []struct {
		name  string
		log   Phase
		nodes []string
		want  Phase
	}{
		{"nothing has started", Pending, []string{"pending pending", "pending -"}, Pending},
		{"one container is enough to run", Pending, []string{"pending running", "pending pending"}, Running},
		{"a container that has ended has run", Pending, []string{"pending completed"}, Running},
		{"a container that failed has run, until its Job says so", Pending, []string{"pending failed"}, Running},
		{"a node that is done has run", Pending, []string{"completed completed", "pending pending"}, Running},
		{"all nodes done, but the log does not say so yet", Pending, []string{"completed completed", "completed -"}, Running},
		{"one failed, but the log does not say so yet", Pending, []string{"failed -", "pending pending"}, Running},
		{"what ran does not become pending", Running, []string{"pending pending"}, Running},
		{"nor when all is gone", Running, []string{"- -"}, Running},
		{"the log's end beats the cluster", Failed, []string{"completed completed"}, Failed},
		{"a stop beats the cluster", Stopped, []string{"pending running"}, Stopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := viewFixture(tt.log, tt.nodes...).CurrentPhase(); got != tt.want {
				t.Errorf("it stands at %s, want %s", got, tt.want)
			}
		})
	}
	if got := (View{}).CurrentPhase(); got != Pending {
		t.Errorf("Jobs without a record stand at %s", got)
	}
	early := viewFixture(Pending, "failed failed")
	early.UIDs = nil
	if got := early.CurrentPhase(); got != Pending {
		t.Errorf("before it is applied it stands at %s", got)
	}
}

// told returns a summary of each node: rank, phase, exit code and reason.
func told(nodes []Node) []string {
	var all []string
	for _, n := range nodes {
		s := fmt.Sprintf("%d %s", n.Rank, n.Phase)
		if n.ExitCode != nil {
			s += fmt.Sprintf(", exit code %d", *n.ExitCode)
		}
		if n.Reason != "" {
			s += ", " + n.Reason
		}
		all = append(all, s)
	}
	return all
}

func TestNodes(t *testing.T) {
	ran := func(v View) View { v.Nodes = []Node{{Rank: 0, Phase: Running}, {Rank: 1, Phase: Completed}}; return v }
	waited := func(v View) View {
		v.Nodes = []Node{{Rank: 0, Phase: Pending, Reason: "ContainerCreating"}, {Rank: 1, Phase: Running}}
		return v
	}
	for _, tt := range []struct {
		name string
		v    View
		want []string
	}{
		{
			"as the cluster shows them", viewFixture(Running, "completed completed", "failed failed", "pending running", "pending pending"),
			[]string{"0 completed", "1 failed", "2 running", "3 pending"},
		},
		{"a pod that has ended runs until its Job has", viewFixture(Running, "pending completed", "pending failed"), []string{"0 running", "1 running"}},
		{"once it has ended as they were then", ran(viewFixture(Completed, "failed failed", "failed failed")), []string{"0 completed", "1 completed"}},
		{"when it was stopped before it started", viewFixture(Stopped, "- -", "- -"), []string{"0 stopped", "1 stopped"}},
		{"when it was stopped while it ran", viewFixture(Stopped, "pending running", "completed completed"), []string{"0 stopped", "1 completed"}},
		{"when it was stopped and all is gone", ran(viewFixture(Stopped, "- -", "- -")), []string{"0 stopped", "1 completed"}},
		{"when it was stopped while one node waited", waited(viewFixture(Stopped, "- -", "- -")), []string{"0 stopped", "1 stopped"}},
		{"when it was refused", viewFixture(Failed, "- -", "- -"), []string{"0 failed", "1 failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "when it was refused" {
				tt.v.UIDs = nil
			}
			nodes := tt.v.NodeList()
			if diff := cmp.Diff(tt.want, told(nodes)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			for rank, n := range nodes {
				if want := JobName("train", "a", rank, len(nodes)); n.Job != want {
					t.Errorf("node %d has job %s, want %s", rank, n.Job, want)
				}
			}
		})
	}
}

func TestNodeDescribesItsJobAndPod(t *testing.T) {
	v := viewFixture(Running, "failed failed")
	v.Jobs[0].Reason, v.Jobs[0].Message, v.Jobs[0].FinishedAt = "BackoffLimitExceeded", "Job has reached the limit", second(9)
	*v.Pods[0] = Pod{
		Name: "pod", Host: "host", Phase: Failed, ExitCode: new(3), Reason: "OOMKilled", Message: "out of memory",
		StartedAt: second(1), FinishedAt: second(5),
	}
	want := Node{
		Rank: 0, Phase: Failed, Job: "train-a", Pod: "pod", Host: "host", ExitCode: new(3),
		Reason: "OOMKilled", Message: "out of memory", StartedAt: new(second(1)), FinishedAt: new(second(5)),
	}
	if diff := cmp.Diff([]Node{want}, v.NodeList()); diff != "" {
		t.Errorf("what the pod says comes first (-want +got):\n%s", diff)
	}
	v.Pods[0] = nil
	want = Node{
		Rank: 0, Phase: Failed, Job: "train-a", Reason: "BackoffLimitExceeded", Message: "Job has reached the limit", FinishedAt: new(second(9)),
	}
	if diff := cmp.Diff([]Node{want}, v.NodeList()); diff != "" {
		t.Errorf("without a pod the Job speaks (-want +got):\n%s", diff)
	}
	done := viewFixture(Running, "completed completed")
	done.Pods[0].Reason = "Completed"
	if got := done.NodeList()[0].Reason; got != "" {
		t.Errorf("a node that succeeded has the reason %q", got)
	}
}

func TestExplain(t *testing.T) {
	with := func(v View, set func(*View)) View { set(&v); return v }
	pod := func(rank int, reason, message string, code *int) func(*View) {
		return func(v *View) {
			v.Pods[rank].Reason, v.Pods[rank].Message, v.Pods[rank].ExitCode = reason, message, code
		}
	}
	for _, tt := range []struct {
		name            string
		v               View
		reason, message string
	}{
		{"nothing is known", viewFixture(Pending, "pending pending"), "", ""},
		{"it cannot be applied", with(viewFixture(Pending, "- -"), func(v *View) { v.Reason, v.Message, v.UIDs = "QuotaExceeded", "exceeded quota", nil }), "QuotaExceeded", "exceeded quota"},
		{
			"a volume is missing", with(viewFixture(Pending, "- -"), func(v *View) { v.Missing, v.UIDs = []string{"data", "x"}, nil }),
			ReasonVolume, "waiting for volume data: you have no volume of that name, and there is no claim of that name that you may use",
		},
		{"a pod waits", with(viewFixture(Pending, "pending pending"), pod(0, "ImagePullBackOff", "no such image", nil)), "ImagePullBackOff", "no such image"},
		{"one of several waits", with(viewFixture(Pending, "pending pending", "pending pending"), pod(1, "Unschedulable", "0/3 nodes", nil)), "Unschedulable", "node 1: 0/3 nodes"},
		{"a node failed by its exit code", with(viewFixture(Failed, "- -"), func(v *View) {
			v.Nodes = []Node{{Phase: Failed, Reason: "Error", ExitCode: new(3)}}
		}), "Error", "exit code 3"},
		{"a node of several failed", with(viewFixture(Failed, "- -", "- -"), func(v *View) {
			v.Nodes = []Node{{Phase: Completed, Reason: "x"}, {Rank: 1, Phase: Failed, Reason: "OOMKilled", ExitCode: new(137)}}
		}), "OOMKilled", "node 1: exit code 137"},
		{"the log has the reason of the end", with(viewFixture(Failed, "- -"), func(v *View) { v.Reason, v.Message = "Invalid", "spec.x" }), "Invalid", "spec.x"},
		{"what runs needs none", with(viewFixture(Running, "pending running", "pending pending"), pod(1, "Unschedulable", "0/3 nodes", nil)), "", ""},
		{"what is complete needs none", with(viewFixture(Completed, "- -"), func(v *View) { v.Reason = "x" }), "", ""},
		{"what is stopped needs none", viewFixture(Stopped, "- -"), "", ""},
		{"what the server stopped says why", with(viewFixture(Stopped, "- -"), func(v *View) { v.Reason, v.Message = "GroupFailed", "task a of group g failed" }), "GroupFailed", "task a of group g failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			why := tt.v.Explain(tt.v.NodeList())
			if why.Reason != tt.reason || why.Message != tt.message {
				t.Errorf("%q, %q, want %q, %q", why.Reason, why.Message, tt.reason, tt.message)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes []string
		lost  []int
		want  string // empty if the task has not ended
		after []string
	}{
		{"nothing has ended", []string{"pending running", "pending pending"}, nil, "", nil},
		{"some have ended", []string{"completed -", "pending running"}, nil, "", nil},
		{"all have succeeded", []string{"completed -", "completed -"}, nil, "completed, , ", []string{"0 completed", "1 completed"}},
		{
			"one failed and another runs",
			[]string{"pending running", "failed -"},
			nil, "failed, Because, node 1: it broke",
			[]string{"0 failed, exit code 137, SiblingFailed", "1 failed, Because"},
		},
		{
			"one failed and the others are done",
			[]string{"completed -", "failed -"},
			nil, "failed, Because, node 1: it broke",
			[]string{"0 completed", "1 failed, Because"},
		},
		{
			"one was lost",
			[]string{"- -", "pending running"},
			[]int{0},
			"failed, JobDeleted, node 0: its Job was deleted from the cluster, not by 'k8s-cli jobs stop'",
			[]string{"0 failed, JobDeleted", "1 failed, exit code 137, SiblingFailed"},
		},
		{"the only one was lost", []string{"- -"}, []int{0}, "failed, JobDeleted, its Job was deleted from the cluster, not by 'k8s-cli jobs stop'", []string{"0 failed, JobDeleted"}},
		{"one is not shown and not lost", []string{"- -", "completed -"}, nil, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := viewFixture(Running, tt.nodes...)
			for _, j := range v.Jobs {
				if j != nil && j.Phase == Failed {
					j.Reason, j.Message = "Because", "it broke"
				}
			}
			end := v.Outcome(tt.lost)
			if end == nil || tt.want == "" {
				if end != nil || tt.want != "" {
					t.Errorf("outcome %+v, want %q", end, tt.want)
				}
				return
			}
			if got := fmt.Sprintf("%s, %s, %s", end.Phase, end.Reason, end.Message); got != tt.want || end.ID != "a" {
				t.Errorf("outcome %q of %s, want %q", got, end.ID, tt.want)
			}
			if diff := cmp.Diff(tt.after, told(end.Nodes)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	v := viewFixture(Pending, "pending running", "- -")
	if got := v.Changed(); !got.Equal(second(1)) {
		t.Errorf("with nothing newer: %s", got)
	}
	v.Pods[0].StartedAt = second(5)
	if got := v.Changed(); !got.Equal(second(5)) {
		t.Errorf("a container started: %s", got)
	}
	v.Pods[0].FinishedAt = second(7)
	if got := v.Changed(); !got.Equal(second(7)) {
		t.Errorf("it ended: %s", got)
	}
	v.Jobs[0].FinishedAt = second(8)
	if got := v.Changed(); !got.Equal(second(8)) {
		t.Errorf("its Job ended: %s", got)
	}
	v.UpdatedAt = second(9)
	if got := v.Changed(); !got.Equal(second(9)) {
		t.Errorf("the log has something newer: %s", got)
	}
	v.Phase, v.UpdatedAt = Stopped, second(6)
	if got := v.Changed(); !got.Equal(second(6)) {
		t.Errorf("once it is over the log alone counts: %s", got)
	}
}

func TestOwnsPod(t *testing.T) {
	v := viewFixture(Running, "pending -")
	v.Hash = "h"
	for _, tt := range []struct {
		user, hash string
		want       bool
	}{{"ann", "h", true}, {"ann", "x", false}, {"Ann", "h", false}, {"", "", false}} {
		if got := v.Owns(tt.user, tt.hash); got != tt.want {
			t.Errorf("of %q, %q: %v", tt.user, tt.hash, got)
		}
	}
	if (View{}).Owns("", "") {
		t.Error("a view without a record owns a Job without annotations")
	}
	v.Jobs[0].UID, v.UIDs[0] = "now", "then"
	for uid, want := range map[string]bool{"now": true, "then": true, "other": false} {
		if got := v.OwnsPod(&Pod{JobUID: uid}); got != want {
			t.Errorf("a pod of the Job %s: %v", uid, got)
		}
	}
}
