package task

import (
	"slices"
	"strings"
	"testing"
)

// TestReasonsHaveHints checks that every reason that k8s-cli itself finds has a hint.
func TestReasonsHaveHints(t *testing.T) {
	for _, reason := range []string{
		ReasonBacklog, ReasonMaxJobs, ReasonMaxUserJobs, ReasonMaxUnplaced, ReasonTooLarge, ReasonNotBound, ReasonClaimGone,
		ReasonClaimDeleting, ReasonNodeNotReady, ReasonNotScheduled, ReasonBackOff, ReasonVolume, ReasonUnshared, ReasonSibling,
		ReasonDeleted, ReasonInternal, ReasonFetching, ReasonNotFetched, ReasonCopying, ReasonNotCopied, ReasonNotSent, ReasonDeadline,
	} {
		if HintFor(reason, "", nil) == "" {
			t.Errorf("%s has no hint", reason)
		}
	}
}

func TestSplitSeparatesTheLastLinesFromTheMessage(t *testing.T) {
	v := viewFixture(Running, "failed failed", "failed -")
	v.Pods[0].Reason, v.Pods[0].Message, v.Pods[0].ExitCode = "Error", "exit code 3\none\ntwo", new(3)
	end := v.Outcome(nil)
	if end.Message != "node 0: exit code 3" || end.Nodes[0].Message != "exit code 3\none\ntwo" || end.Nodes[0].LastLines != "" || end.Nodes[0].Hint != "" {
		t.Errorf("the log has %+v", end) // the form that older releases read
	}
	v.Phase, v.Nodes, v.Reason, v.Message = Failed, end.Nodes, end.Reason, end.Message
	nodes := v.NodeList()
	if n := nodes[0].Split(); n.Message != "exit code 3" || n.LastLines != "one\ntwo" {
		t.Errorf("shown: %+v", n)
	}
	if why := v.Explain(nodes); why.Message != "node 0: exit code 3" || !strings.Contains(why.Hint, "last lines") {
		t.Errorf("the task: %+v", why)
	}
}

func TestOnlyTheFirstNodesStoreTheirLastLines(t *testing.T) {
	v := viewFixture(Running, slices.Repeat([]string{"failed failed"}, 20)...)
	for _, pod := range v.Pods {
		pod.Reason, pod.Message = "Error", "exit code 3\nlast"
	}
	kept := 0
	for _, n := range v.Outcome(nil).Nodes {
		if n.Split().Message != "exit code 3" {
			t.Errorf("node %d: %q", n.Rank, n.Message)
		}
		if n.Split().LastLines == "last" {
			kept++
		}
	}
	if kept != MaxNodesWithLastLines {
		t.Errorf("%d nodes left their last lines, want %d", kept, MaxNodesWithLastLines)
	}
}

// TestNoteTakesPrecedenceOverTheReasonOfThePod checks that a note explains a node rather than an older
// reason of its pod.
func TestNoteTakesPrecedenceOverTheReasonOfThePod(t *testing.T) {
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
		}), Note{"OOMKilled", "limit", HintFor("OOMKilled", "", nil)}},
		{
			"a pod that is gone had ended", with(viewFixture(Running, "failed -"), func(v *View) {
				v.Phase, v.Jobs[0].Reason = Failed, "BackoffLimitExceeded"
				v.Former = []*Pod{{Phase: Failed, Reason: "PreemptionByScheduler", Message: "for another"}}
				v.Nodes = v.Outcome(nil).Nodes
			}),
			Note{"PreemptionByScheduler", "for another", HintFor("PreemptionByScheduler", "", nil)},
		},
		{
			"a time limit ends what failed by it", with(viewFixture(Running, "failed failed"), func(v *View) {
				v.Jobs[0].Reason, v.Jobs[0].Message, v.Pods[0].Reason, v.Pods[0].ExitCode = ReasonDeadline, "was active longer", "Error", new(143)
				v.Phase, v.Nodes = Failed, v.Outcome(nil).Nodes
			}),
			Note{ReasonDeadline, "was active longer", HintFor(ReasonDeadline, "", nil)},
		},
		{
			"what a pod waited for is not why its Job failed", with(viewFixture(Running, "failed pending"), func(v *View) {
				v.Jobs[0].Reason, v.Jobs[0].Message, v.Pods[0].Reason = "BackoffLimitExceeded", "limit", "Unschedulable"
				v.Phase, v.Nodes = Failed, v.Outcome(nil).Nodes
			}),
			Note{"BackoffLimitExceeded", "limit", HintFor("BackoffLimitExceeded", "", nil)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.v.Explain(tt.v.NodeList()); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
