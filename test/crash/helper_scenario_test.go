package crash

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// run runs the scenario with the current server.
func (s *scenario) run() {
	s.t.Helper()
	if s.grows() {
		s.grow()
	}
	if s.uploads() {
		s.upload()
	}
	if s.step == crash.AppendOutputsStored {
		s.leaveOutputs()
	}
	if s.step == crash.AppendEndSessions {
		s.logOut()
	}
	if s.step == crash.AppendRestarted {
		s.restart()
	}
	s.runs("adopted")
	s.create("data")
	s.awaitClaim("data")
	s.submit("one", 1, map[string]string{"/data": "data"})
	s.runs("one")
	s.submit("three", 3, nil)
	s.runs("three")
	if !testing.Short() {
		s.failures()
	}
	s.work()
	s.stop("one")
	s.current = ""
	s.do(http.MethodPost, "/tasks/stop", "", nil, http.StatusOK)
	for name := range s.ids {
		if s.end[name] == "" {
			s.end[name] = task.Stopped
		}
	}
}

// failures creates what the API server rejects, what the user stops at once, and a volume that loses
// its claim.
func (s *scenario) failures() {
	s.t.Helper()
	s.submit(rejected, 3, nil)
	s.ends(rejected, task.Failed)
	s.submit(crowded, 1, nil)
	s.await(crowded, "delayed", func(t task.Status) bool { return t.Metadata.Reason == "QuotaExceeded" })
	s.addCapacity(s.t)
	s.runs(crowded)
	s.submit("hasty", 3, nil)
	s.stop("hasty")
	s.create(rejected)
	s.eventually("the volume fails", func() (string, bool) {
		got := s.do(http.MethodGet, "/volumes/"+s.volumes[rejected], "", nil, http.StatusOK)
		return string(got), strings.Contains(string(got), `"Failed"`) && strings.Contains(string(got), "this house")
	})
	s.create("brief")
	s.awaitClaim("brief")
	s.loseClaim("brief")
	s.do(http.MethodDelete, "/volumes/"+s.volumes["brief"], "", nil, http.StatusOK, http.StatusNotFound) // 404: the volume was deleted, but the server died before its answer
}

// work makes one task succeed and another one fail.
func (s *scenario) work() {
	s.t.Helper()
	s.submit("done", 1, nil)
	if s.runs("done"); !s.stopped("done") {
		s.play(s.t, s.jobs("done")[0], corev1.PodRunning)
	}
	s.await("done", "running", func(t task.Status) bool { return t.Phase == task.Running })
	if !s.stopped("done") {
		s.play(s.t, s.jobs("done")[0], corev1.PodSucceeded)
	}
	s.ends("done", task.Completed)
	s.submit("fails", 2, nil)
	if s.runs("fails"); !s.stopped("fails") {
		s.play(s.t, s.jobs("fails")[0], corev1.PodRunning)
		s.play(s.t, s.jobs("fails")[1], corev1.PodRunning)
	}
	s.eventually("the nodes know each other", func() (string, bool) {
		return "", s.stopped("fails") || s.introduced(s.t, s.jobs("fails"))
	})
	if !s.stopped("fails") {
		s.play(s.t, s.jobs("fails")[1], corev1.PodFailed)
	}
	s.ends("fails", task.Failed)
	s.current = ""
}

// settles waits for the expected end state. Every accepted task exists once, in its final
// phase. Of a stopped or rejected task no object is left; of other tasks only the retained
// objects are left.
func (s *scenario) settles() {
	s.t.Helper()
	want := []string{s.claim("data"), s.claim("adopted")}
	for name, phase := range s.end {
		switch {
		case s.step == crash.AppendExpireHistory && phase.Over(): // the retained objects are deleted with the history
		case phase == task.Completed || phase == task.Pending:
			want = append(want, "job "+s.jobs(name)[0])
		case name == "fails" && phase == task.Failed:
			want = append(want, "job "+s.jobs(name)[1])
		}
	}
	slices.Sort(want)
	s.eventually("nothing is left but "+sprint(want), func() (string, bool) {
		return sprint(s.there()), slices.Equal(s.there(), want)
	})
	s.eventually("all tasks are as they have to be", func() (string, bool) {
		seen := s.listing()
		for name, phase := range s.end {
			forgotten := seen[name] == "" && s.step == crash.AppendExpireHistory && phase.Over()
			if seen[name] != phase && !forgotten {
				return fmt.Sprintf("%s is %q, want %s", name, seen[name], phase), false
			}
		}
		return "", true
	})
	var volumes task.VolumeList
	s.decode(s.do(http.MethodGet, "/volumes", "", nil, http.StatusOK), &volumes)
	got, wanted := map[string]string{}, maps.Clone(s.volumes)
	for _, v := range volumes.Volumes {
		got[v.Name] += v.ID
	}
	delete(wanted, "brief")
	if !maps.Equal(got, wanted) {
		s.t.Errorf("the volumes are %v, want %v", got, wanted)
	}
}

// listing returns the phases of all tasks by name. listing fails the test if a task exists
// twice or a stopped task is not in phase stopped.
func (s *scenario) listing() map[string]task.Phase {
	s.t.Helper()
	var list task.List
	s.decode(s.do(http.MethodGet, "/tasks", "", nil, http.StatusOK), &list)
	seen := map[string]task.Phase{}
	for _, t := range list.Tasks {
		if seen[t.Name] != "" || s.ids[t.Name] != t.ID {
			s.t.Fatalf("task %s %s is one too many", t.Name, t.ID)
		}
		if s.stopped(t.Name) && t.Phase != task.Stopped {
			s.t.Fatalf("task %s was stopped, and is %s", t.Name, t.Phase)
		}
		seen[t.Name] = t.Phase
	}
	return seen
}

// afterwards checks that the current server still works and that no deleted object has
// reappeared.
func (s *scenario) afterwards() {
	s.t.Helper()
	s.submit("afterwards", 1, nil)
	s.runs("afterwards")
	s.end["afterwards"] = task.Pending
	s.settles()
	if wrong := s.wrong(); len(wrong) > 0 {
		s.t.Errorf("%s", strings.Join(wrong, "\n"))
	}
	s.noOrphans()
}

// noOrphans checks that every object has a record.
func (s *scenario) noOrphans() {
	s.t.Helper()
	list, err := s.BatchV1().Jobs(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	known := slices.Collect(maps.Values(s.ids))
	if slices.ContainsFunc(list.Items, func(j batchv1.Job) bool { return !slices.Contains(known, j.Labels[task.LabelTaskID]) }) {
		s.t.Errorf("a Job has no task: %v", s.there())
	}
}
