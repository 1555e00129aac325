package task

import (
	"slices"
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	for _, tt := range []struct {
		reason, message string
		code            *int
		want            string // part of the hint; empty if there is none
	}{
		{"", "", nil, ""},
		{"NobodyKnows", "x", nil, ""},
		{"Error", "", nil, ""},
		{"Error", "exit code 3", new(3), "last lines"},
		{"Error", "exit code 3" + SetupFailedSuffix, new(3), "output of setup"},
		{"Error", "exit code 127" + SetupFailedSuffix, new(127), "The image does not have a command"},
		{"Error", "", new(126), "not executable"},
		{"Error", "", new(137), "SIGKILL"},
		{"Error", "", new(143), "SIGTERM"},
		{"Error", "", new(139), "SIGSEGV"},
		{"OOMKilled", "", new(137), "resources.memory"},
		{"ErrImagePull", `dial tcp: lookup registry.invalid: no such host`, nil, "cannot reach the registry"},
		{"ErrImagePull", `failed to do request: dial tcp 10.0.0.1:443: i/o timeout`, nil, "cannot reach the registry"},
		{"ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: docker.io/library/x:latest: not found`, nil, "no such image"},
		{"ErrImagePull", `pull access denied, repository does not exist or may require authorization: insufficient_scope: authorization failed`, nil, "pull secret"},
		{"ErrImagePull", `failed to authorize: unexpected status: 401 Unauthorized`, nil, "pull secret"},
		{"ErrImagePull", `no match for platform in manifest: not found`, nil, "architecture of the machine"},
		{"FailedCreatePodSandBox", `failed to set up sandbox: plugin type="bridge" failed`, nil, "because of its network"},
		{"FailedCreatePodSandBox", `no runtime for "none" is configured`, nil, "runtimeClassName"},
		{"OutOfcpu", "Node didn't have enough resource: cpu", nil, "less capacity"},
		{"OutOfnvidia.com/gpu", "Node didn't have enough resource", nil, "less capacity"},
		{"ImagePullBackOff", `Back-off pulling image "x"`, nil, "why the image cannot be pulled"},
	} {
		got := hint(tt.reason, tt.message, tt.code)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %q, want %q", tt.reason, tt.message, got, tt.want)
		}
	}
}

// TestHintsAreSentences checks that a hint is one sentence of at most 160 bytes.
func TestHintsAreSentences(t *testing.T) {
	for reason, h := range hints {
		if !strings.HasSuffix(h, ".") || strings.Count(h, ". ") > 0 || strings.Contains(h, "\n") || len(h) > 160 {
			t.Errorf("%s: %q", reason, h)
		}
	}
}

func TestLastLinesAreApartFromTheMessage(t *testing.T) {
	v := viewFixture(Running, "failed failed", "failed -")
	v.Pods[0].Reason, v.Pods[0].Message, v.Pods[0].ExitCode = "Error", "exit code 3\none\ntwo", new(3)
	end := v.Outcome(nil)
	if end.Message != "node 0: exit code 3" || end.Nodes[0].Message != "exit code 3\none\ntwo" || end.Nodes[0].Output != "" || end.Nodes[0].Hint != "" {
		t.Errorf("the log has %+v", end) // the form that older releases read
	}
	v.Phase, v.Nodes, v.Reason, v.Message = Failed, end.Nodes, end.Reason, end.Message
	nodes := v.NodeList()
	if n := nodes[0].Split(); n.Message != "exit code 3" || n.Output != "one\ntwo" {
		t.Errorf("shown: %+v", n)
	}
	if why := v.Explain(nodes); why.Message != "node 0: exit code 3" || !strings.Contains(why.Hint, "last lines") {
		t.Errorf("the task: %+v", why)
	}
}

func TestFewNodesLeaveTheirLastLines(t *testing.T) {
	v := viewFixture(Running, slices.Repeat([]string{"failed failed"}, 20)...)
	for _, pod := range v.Pods {
		pod.Reason, pod.Message = "Error", "exit code 3\nlast"
	}
	kept := 0
	for _, n := range v.Outcome(nil).Nodes {
		if n.Split().Message != "exit code 3" {
			t.Errorf("node %d: %q", n.Rank, n.Message)
		}
		if n.Split().Output == "last" {
			kept++
		}
	}
	if kept != MaxOutputs {
		t.Errorf("%d nodes left their last lines, want %d", kept, MaxOutputs)
	}
}

// TestWhatExplainsANode checks that a note takes precedence over an older reason of the
// pod.
func TestWhatExplainsANode(t *testing.T) {
	with := func(v View, set func(*View)) View { set(&v); return v }
	note := []Note{{Reason: "JobSuspended", Message: "by a queue", Hint: "Wait."}}
	for _, tt := range []struct {
		name string
		v    View
		want Note
	}{
		{
			"its note comes before its pod", with(viewFixture(Pending, "pending pending"), func(v *View) { v.Pods[0].Reason, v.Notes = "Unschedulable", note }),
			note[0],
		},
		{"what runs has a note too", with(viewFixture(Running, "pending running"), func(v *View) { v.Notes = note }), note[0]},
		{"what runs and ends is not explained", with(viewFixture(Running, "pending failed"), func(v *View) { v.Pods[0].Reason, v.Pods[0].ExitCode = "Error", new(3) }), Note{}},
		{"a node that has ended has no note", with(viewFixture(Failed, "failed failed"), func(v *View) {
			v.Nodes, v.Notes = []Node{{Phase: Failed, Reason: "OOMKilled", Message: "limit"}}, note
		}), Note{"OOMKilled", "limit", hints["OOMKilled"]}},
		{
			"a pod that is gone had ended", with(viewFixture(Running, "failed -"), func(v *View) {
				v.Phase, v.Jobs[0].Reason = Failed, "BackoffLimitExceeded"
				v.Former = []*Pod{{Phase: Failed, Reason: "PreemptionByScheduler", Message: "for another"}}
				v.Nodes = v.Outcome(nil).Nodes
			}),
			Note{"PreemptionByScheduler", "for another", hints["PreemptionByScheduler"]},
		},
		{
			"a time limit ends what failed by it", with(viewFixture(Running, "failed failed"), func(v *View) {
				v.Jobs[0].Reason, v.Jobs[0].Message, v.Pods[0].Reason, v.Pods[0].ExitCode = reasonDeadline, "was active longer", "Error", new(143)
				v.Phase, v.Nodes = Failed, v.Outcome(nil).Nodes
			}),
			Note{reasonDeadline, "was active longer", hints[reasonDeadline]},
		},
		{
			"what a pod waited for is not why its Job failed", with(viewFixture(Running, "failed pending"), func(v *View) {
				v.Jobs[0].Reason, v.Jobs[0].Message, v.Pods[0].Reason = "BackoffLimitExceeded", "limit", "Unschedulable"
				v.Phase, v.Nodes = Failed, v.Outcome(nil).Nodes
			}),
			Note{"BackoffLimitExceeded", "limit", hints["BackoffLimitExceeded"]},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.v.Explain(tt.v.NodeList()); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
