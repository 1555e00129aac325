package attempt_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

var noon = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

// viewOf returns the view of a task of one node that may start again twice after failures,
// and after every eviction and every exit code 33. The last pod is the newest.
func viewOf(pods ...*task.Pod) task.View {
	r := &task.Record{Phase: task.Running, UIDs: []string{"job"}}
	r.Submit.ID = "a"
	r.Submit.Task.Resources.JobRecovery = task.Recovery{Strategy: "FAILOVER", Restarts: 2, ExitCodes: []int{33}}
	v := task.View{Record: r, Jobs: []*task.Job{{BackoffLimit: 2, Phase: task.Pending}}, Pods: make([]*task.Pod, 1)}
	if n := len(pods); n > 0 {
		v.Pods[0], v.Earlier = pods[n-1], [][]*task.Pod{pods[:n-1]}
	}
	return v
}

// pod returns pod number n, which was created n minutes after noon.
func pod(n int, phase task.Phase, code int) *task.Pod {
	p := &task.Pod{UID: fmt.Sprint("pod-", n), Name: fmt.Sprint("pod-", n), Phase: phase, Created: noon.Add(time.Duration(n) * time.Minute)}
	if p.StartedAt = p.Created.Add(time.Second); phase.Over() {
		p.ExitCode, p.Reason, p.FinishedAt = &code, "Error", p.Created.Add(30*time.Second)
	}
	return p
}

func evicted(n int) *task.Pod {
	p := pod(n, task.Failed, 137)
	p.Disrupted, p.Reason, p.Message = true, "EvictionByEvictionAPI", "Eviction API: evicting"
	return p
}

func TestEndedAttemptsAndCurrentAttempt(t *testing.T) {
	failed := func(n int) *task.Pod { return pod(n, task.Failed, 3) }
	uncounted := failed(1)
	uncounted.Uncounted = true
	change := func(v task.View, set func(*task.View)) task.View { set(&v); return v }
	for _, tt := range []struct {
		name    string
		view    task.View
		ended   string // numbers and largest numbers of the ended attempts
		current int
		waits   string // beginning of the message
	}{
		{"no pod yet", viewOf(), "", 1, ""},
		{"the first runs", viewOf(pod(1, task.Running, 0)), "", 1, ""},
		{"the first has succeeded", viewOf(pod(1, task.Completed, 0)), "", 1, ""},
		{"the first has failed, and is not counted", viewOf(uncounted), "", 1, ""},
		{"the first has failed", viewOf(failed(1)), "1/3", 2, "attempt 2 of 3, starts again in 8 s; attempt 1 ended: exit code 3"},
		{"the second waits", viewOf(failed(1), pod(2, task.Pending, 0)), "1/3", 2, ""},
		{"the second runs", viewOf(failed(1), pod(2, task.Running, 0)), "1/3", 2, ""},
		{"the second has failed", viewOf(failed(1), failed(2)), "1/3 2/3", 3, "attempt 3 of 3, starts again in 18 s"},
		{"the third has failed", viewOf(failed(1), failed(2), failed(3)), "1/3 2/3", 3, ""},
		{"the Job fails", change(viewOf(failed(1)), func(v *task.View) { v.Jobs[0].Failing = true }), "", 1, ""},
		{"the Job is suspended", change(viewOf(failed(1)), func(v *task.View) { v.Jobs[0].Suspended = true }), "", 1, ""},
		{"the Job is being deleted", change(viewOf(failed(1)), func(v *task.View) { v.Jobs[0].Deleting = true }), "", 1, ""},
		{"the Job has failed more often than was seen", change(viewOf(failed(1)), func(v *task.View) { v.Jobs[0].Failures = 3 }), "", 1, ""},
		{"there is no Job", change(viewOf(failed(1), failed(2)), func(v *task.View) { v.Jobs[0] = nil }), "1/3", 2, ""},
		{"the task was stopped", change(viewOf(failed(1)), func(v *task.View) { v.Phase = task.Stopped }), "", 1, ""},
		{"an eviction is free", viewOf(failed(1), evicted(2), failed(3)), "1/3 2/4 3/4", 4, "attempt 4 of 4, starts again in 38 s"},
		{"an exit code is free", viewOf(pod(1, task.Failed, 33)), "1/4", 2, "attempt 2 of 4, starts again in 8 s; attempt 1 ended: exit code 33"},
		{"no restart after failures", change(viewOf(failed(1)), func(v *task.View) {
			v.Record.Submit.Task.Resources.JobRecovery.Restarts, v.Jobs[0].BackoffLimit = 0, 0
		}), "", 1, ""},
		{"only evictions", change(viewOf(evicted(1)), func(v *task.View) {
			v.Record.Submit.Task.Resources.JobRecovery.Restarts, v.Jobs[0].BackoffLimit = 0, 0
		}), "1/0", 2, "attempt 2, starts again in 8 s; attempt 1 ended: Eviction API: evicting"},
		{"a pod that was deleted", change(viewOf(), func(v *task.View) { v.Former = []*task.Pod{pod(1, task.Running, 0)} }), "1/3", 2, "attempt 2 of 3, starts again soon; attempt 1 ended: its pod was deleted"},
		{"a pod that was deleted, and another", change(viewOf(pod(2, task.Running, 0)), func(v *task.View) { v.Former = []*task.Pod{pod(1, task.Running, 0)} }), "1/3", 2, ""},
		{"a task that never starts again", change(viewOf(failed(1)), func(v *task.View) {
			v.Record.Submit.Task.Resources.JobRecovery, v.Jobs[0].BackoffLimit = task.Recovery{}, 0
		}), "", 1, ""},
	} {
		var ended []string
		for _, a := range attempt.Ended(tt.view, 10) {
			ended = append(ended, fmt.Sprintf("%d/%d", a.Number, a.MaxAttempts))
		}
		now := noon.Add(30 * time.Second)
		if all := tt.view.Pods; all[0] != nil {
			now = all[0].FinishedAt.Add(2 * time.Second)
		}
		note := attempt.WaitNote(tt.view, 0, now)
		if got := strings.Join(ended, " "); got != tt.ended || attempt.Current(tt.view, 0) != tt.current ||
			!strings.HasPrefix(note.Message, tt.waits) || (note.Message == "") != (tt.waits == "") {
			t.Errorf("%s: ended %q, now %d, %q; want %q, %d, %q", tt.name, got, attempt.Current(tt.view, 0), note.Message, tt.ended, tt.current, tt.waits)
		}
	}
}

// The number of an attempt stays the same when the log contains the attempt, and when its
// pod is gone.
func TestNumbersOfAttemptsDoNotChange(t *testing.T) {
	var pods []*task.Pod
	for n := range 20 {
		pods = append(pods, pod(n+1, task.Failed, 33))
		v := viewOf(pods...)
		for recorded := 0; recorded <= n; recorded++ {
			v.Attempts, _ = attempt.Accept(nil, attempt.Ended(viewOf(pods...), recorded), 1)
			for gone := 0; gone <= recorded && gone < len(pods); gone++ {
				v.Earlier[0] = pods[gone : len(pods)-1]
				runs := attempt.Runs(v, 0)
				for _, r := range runs {
					if want := fmt.Sprint("pod-", r.Number); r.UID() != want {
						t.Fatalf("%d pods, %d recorded, %d gone: attempt %d is %s", len(pods), recorded, gone, r.Number, r.UID())
					}
				}
				if got := attempt.Current(v, 0); got != n+2 {
					t.Fatalf("%d pods, %d recorded, %d gone: the present attempt is %d", len(pods), recorded, gone, got)
				}
			}
		}
	}
}

func TestAttemptsOfANode(t *testing.T) {
	all := []task.Attempt{{Rank: 0, Number: 1}, {Rank: 2, Number: 1}, {Rank: 2, Number: 7}, {Rank: 3, Number: 1}}
	for rank, want := range []string{"1", "", "1 7", "1", ""} {
		var got []string
		for _, a := range attempt.Of(all, rank) {
			got = append(got, strconv.Itoa(a.Number))
		}
		last, _ := strconv.Atoi(want[max(len(want)-1, 0):])
		if strings.Join(got, " ") != want || attempt.Last(all, rank).Number != last {
			t.Errorf("node %d: attempts %q, the last one %d; want %q", rank, got, attempt.Last(all, rank).Number, want)
		}
	}
}

func TestBackoffOfTheJobController(t *testing.T) {
	var pods []*task.Pod
	var got []string
	for n := range 9 {
		pods = append(pods, pod(n+1, task.Failed, 33))
		text, _, _ := strings.Cut(attempt.WaitNote(viewOf(pods...), 0, pods[n].FinishedAt).Message, ";")
		_, text, _ = strings.Cut(text, ", starts again ")
		got = append(got, text)
	}
	want := []string{"in 10 s", "in 20 s", "in 40 s", "in 80 s", "in 3 min", "in 6 min", "in 10 min", "in 10 min", "in 10 min"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if late := attempt.WaitNote(viewOf(pods[0]), 0, pods[0].FinishedAt.Add(time.Minute)); !strings.Contains(late.Message, "starts again now") {
		t.Errorf("later: %q", late.Message)
	}
}

func TestAttemptsInTheStatus(t *testing.T) {
	v := viewOf(pod(1, task.Failed, 3), pod(2, task.Failed, 3))
	v.Attempts, _ = attempt.Accept(nil, attempt.Ended(v, 2), 1)
	m := task.Metadata{Nodes: v.NodeList()}
	attempt.Describe(v, &m)
	n := m.Nodes[0]
	if m.Attempt != 3 || m.Restarts != 2 || m.MaxRestarts != 2 || n.Attempt != 3 || n.MaxAttempts != 3 || n.ExitCode != nil || n.FinishedAt != nil {
		t.Errorf("between the attempts: %+v", m)
	}
	if len(n.Attempts) != 2 || *n.Attempts[1].ExitCode != 3 || n.Attempts[1].Pod != "pod-2" || n.Attempts[1].FinishedAt == nil {
		t.Errorf("the attempts are %+v", n.Attempts)
	}
	v.Record.Phase, v.Jobs[0], v.Pods[0], v.Earlier = task.Failed, nil, nil, nil
	m = task.Metadata{Nodes: []task.Node{{ExitCode: new(3)}}}
	attempt.Describe(v, &m)
	if m.Attempt != 3 || m.Restarts != 2 || m.MaxRestarts != 2 || m.Nodes[0].ExitCode == nil || len(m.Nodes[0].Attempts) != 2 {
		t.Errorf("without its Job: %+v", m)
	}
	m = task.Metadata{Nodes: []task.Node{{}}}
	v.Attempts, v.Record.Submit.Task.Resources.JobRecovery = nil, task.Recovery{}
	if attempt.Describe(v, &m); m.Attempt != 0 || m.Nodes[0].Attempt != 0 {
		t.Errorf("a task that never starts again: %+v", m)
	}
}
