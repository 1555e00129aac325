package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

func restarted(id string, ended ...task.Attempt) task.Command {
	return task.Command{Restarted: &task.Restarted{ID: id, Attempts: ended}}
}

func recovers(c task.Command) task.Command {
	c.Submit.Task.Resources.JobRecovery = task.Recovery{Strategy: "FAILOVER", Restarts: 2, ExitCodes: []int{33}}
	return c
}

func failed(rank, number int) task.Attempt {
	return task.Attempt{
		Rank: rank, Number: number, MaxAttempts: 3, UID: fmt.Sprint("pod-", rank, "-", number), ExitCode: new(3),
		Reason: "Error", Message: "exit code 3", LastLines: "last words", CreatedAt: noon,
	}
}

func TestAttemptsAreRecordedInOrder(t *testing.T) {
	w := newTestState(t, recovers(submitNodes("ann", "a", 2)), applied(taskKey("a"), "u", "v"))
	for _, tt := range []struct {
		name     string
		ended    []task.Attempt
		rejected bool
		want     string // ranks and numbers of the recorded attempts
	}{
		{"the second attempt before the first", []task.Attempt{failed(0, 2)}, true, ""},
		{"a node that the task does not have", []task.Attempt{failed(2, 1), failed(-1, 1)}, true, ""},
		{"one of each node", []task.Attempt{failed(1, 1), failed(0, 1)}, false, "0/1 1/1"},
		{"the same again", []task.Attempt{failed(1, 1), failed(0, 1)}, true, "0/1 1/1"},
		{"one that is new and one that is not", []task.Attempt{failed(1, 1), failed(1, 2)}, false, "0/1 1/1 1/2"},
	} {
		before := w.last
		result, changed := w.fold(restarted("a", tt.ended...))
		r := w.Tasks["a"].Record()
		var got []string
		for _, a := range r.Attempts {
			got = append(got, fmt.Sprintf("%d/%d", a.Rank, a.Number))
			if a.LastLines != "" {
				t.Errorf("%s: the record has the output %q", tt.name, a.LastLines)
			}
		}
		if (result.Rejection != "") != tt.rejected || (len(changed) == 0) != tt.rejected || (w.last == before) != tt.rejected || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %+v, changed %v, attempts %q, want %q", tt.name, result, changed, got, tt.want)
		}
	}
	if r := w.Tasks["a"].Record(); r.Phase != task.Running || r.Submit.Resources().JobRecovery.Restarts != 2 {
		t.Errorf("the task is %s, with recovery %+v", r.Phase, r.Submit.Resources().JobRecovery)
	}
	w.fold(stop("ann", "a"))
	if result, _ := w.fold(restarted("a", failed(0, 2))); result.Rejection == "" {
		t.Error("a task that is over starts again")
	}
}

func TestARestartIsAnEvent(t *testing.T) {
	w := newTestState(t, recovers(submit("ann", "a")), applied(taskKey("a"), "u"))
	got := w.foldTogether(restarted("a", failed(0, 1), failed(0, 2))).Events
	if diff := cmp.Diff([]string{"4.1 phase task/a running", "4.2 restart task/a running because Error", "4.3 restart task/a running because Error"}, said(got)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if a := got[2].Attempt; got[2].Message != "attempt 2 of 3 ended: exit code 3" || a.LastLines != "last words" || a.Number != 2 || *a.ExitCode != 3 {
		t.Errorf("%+v, %+v", got[2], a)
	}
}

func TestTheFirstAndTheLastAttemptsAreRecorded(t *testing.T) {
	w := newTestState(t, recovers(submit("ann", "a")), applied(taskKey("a"), "u"))
	for number := range 100 {
		w.fold(restarted("a", failed(0, number+1)))
	}
	var got []int
	for _, a := range w.Tasks["a"].Record().Attempts {
		got = append(got, a.Number)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 96, 97, 98, 99, 100}, got); diff != "" || len(got) != attempt.KeepFirst+attempt.KeepLast {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func TestAttemptsAreInSnapshots(t *testing.T) {
	w := newTestState(t, recovers(submit("ann", "a")), applied(taskKey("a"), "u"), restarted("a", failed(0, 1)), ended("a", task.Failed))
	want := w.Tasks["a"].Record()
	if w.Tasks["a"].full != nil || len(want.Attempts) != 1 || want.Submit.Resources().JobRecovery.Restarts != 2 {
		t.Errorf("the record is %+v", want)
	}
	if diff := cmp.Diff(want, decoded(t, encoded(t, w.Snapshot())).Tasks["a"].Record()); diff != "" {
		t.Errorf("the record (-before +after):\n%s", diff)
	}
}
