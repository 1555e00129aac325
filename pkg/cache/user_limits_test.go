package cache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func upload(user, sum string, size int64) task.Command {
	return task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: user + "/" + sum, Size: size}}
}

func TestUsageAndOwners(t *testing.T) {
	keyed := submit("ann", "t3")
	keyed.Submit.Key = "k"
	p := newTestStore(t,
		submit("ann", "t1"), submit("ann", "t2"), keyed, submit("bob", "t4"), create("bob", "v1", "data"),
		applied(taskKey("t1"), "uid"), stop("ann", "t2"), upload("ann", "a", 10), upload("ann", "b", 20), upload("ann", "a", 5), upload("bob", "a", 7),
	)
	for user, want := range map[string]task.Usage{
		"ann": {Active: 2, Waiting: 1, UploadBytes: 25}, "bob": {Active: 1, Waiting: 1, UploadBytes: 7}, "eve": {},
	} {
		if diff := cmp.Diff(want, p.Usage(user)); diff != "" {
			t.Errorf("%s has (-want +got):\n%s", user, diff)
		}
	}
	if p.UploadSize("ann", "b") != 20 || p.UploadSize("bob", "b") != 0 {
		t.Error("the size of an upload is not its owner's")
	}
	if !p.Submitted("ann", "k") || p.Submitted("bob", "k") || p.Submitted("ann", "l") {
		t.Error("a key is not that of who used it")
	}
	for key, want := range map[task.Key]string{taskKey("t1"): "ann", taskKey("t4"): "bob", volumeKey("v1"): "bob", taskKey("v1"): "", volumeKey("t1"): ""} {
		if user, ok := p.Owner(key); user != want || ok != (want != "") {
			t.Errorf("the owner of %s: %q, %t, want %q", key, user, ok, want)
		}
	}
}

func TestPhasesAndTheOldestAreCounted(t *testing.T) {
	urgent := submit("ann", "t3")
	urgent.Submit.Task.Resources.Priority = 5
	p := newTestStore(t, submit("ann", "t1"), submit("ann", "t2"), urgent, submit("bob", "t4"))
	oldest := func(want int) {
		t.Helper()
		at, ok := p.admission.oldest()
		if ok != (want > 0) || ok && !at.Equal(noon.Add(time.Duration(want)*time.Second)) {
			t.Errorf("the oldest is of %s, %t, want second %d", at, ok, want)
		}
	}
	phases := func(pending, running, stopped int) {
		t.Helper()
		want := map[task.Phase]int{task.Pending: pending, task.Running: running, task.Stopped: stopped}
		for phase, n := range want {
			if got := p.index.all.counts.OfPhase(phase); got != n {
				t.Errorf("%d tasks are %s, want %d", got, phase, n)
			}
		}
	}
	oldest(1)
	phases(4, 0, 0)
	p.apply(applied(taskKey("t1"), "uid"))
	oldest(2)
	p.apply(stop("ann", "t2"))
	oldest(3)
	phases(3, 0, 1)
	p.SetAdmissionLimits(limits(1, 0, 0))
	oldest(0) // one Job exists, and the limit allows no other
	p.SetAdmissionLimits(limits(0, 0, 0))
	p.apply(admitted("t3"))
	oldest(4)
	p.apply(delayed("t3"))
	oldest(4)
	p.apply(stop("ann", "t3"), stop("bob", "t4"))
	oldest(0)
	phases(1, 0, 3)
	p.Reset()
	phases(0, 0, 0)
	p.replayLog()
	phases(1, 0, 3)
}
