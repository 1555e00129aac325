package crash

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// A panic while reconciling a task fails the task, with a reason, and leaves no object of
// the task. Other tasks continue.
func TestPanicWhileReconcilingTask(t *testing.T) {
	need(t)
	for _, step := range []crash.Step{crash.CreateJob, crash.AppendApplied, crash.ResumeJob, crash.AppendStarted} {
		for _, point := range []string{"before-" + string(step), "after-" + string(step)} {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				s := poisoned(t, step, point)
				s.submit("poison", 2, nil)
				if step == crash.AppendStarted {
					s.runs("poison")
					s.play(t, s.jobs("poison")[0], corev1.PodRunning)
				}
				s.await("poison", "failed with a reason", func(got task.Status) bool {
					return got.Phase == task.Failed && got.Metadata.Reason == task.ReasonInternal && got.Metadata.Message != ""
				})
				s.othersRun()
				s.eventually("nothing is left of it", func() (string, bool) {
					there := s.there()
					return sprint(there), !slices.ContainsFunc(there, func(name string) bool { return strings.Contains(name, "poison") })
				})
			})
		}
	}
}

// A panic while stopping a task delays no other task, and the next attempt stops the task.
func TestPanicWhileStoppingTask(t *testing.T) {
	need(t)
	for _, step := range []crash.Step{crash.DeleteJob, crash.AppendCleanedUp} {
		for _, point := range []string{"before-" + string(step), "after-" + string(step)} {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				s := poisoned(t, step, point)
				s.submit("poison", 2, nil)
				s.runs("poison")
				s.stop("poison")
				s.othersRun()
				s.eventually("nothing is left of it", func() (string, bool) {
					return sprint(s.there()), len(s.there()) == 1
				})
				if got := s.listing(); got["poison"] != task.Stopped {
					t.Errorf("the tasks are %v", got)
				}
			})
		}
	}
}

func TestPanicWhileReconcilingVolume(t *testing.T) {
	need(t)
	for _, point := range []string{"before-" + string(crash.CreateClaim), "after-" + string(crash.CreateClaim)} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := poisoned(t, crash.CreateClaim, point)
			s.create("poison")
			s.eventually("the volume fails", func() (string, bool) {
				got := string(s.do(http.MethodGet, "/volumes/"+s.volumes["poison"], "", nil, http.StatusOK))
				return got, strings.Contains(got, `"Failed"`) && strings.Contains(got, task.ReasonInternal)
			})
			s.othersRun()
			s.do(http.MethodDelete, "/volumes/"+s.volumes["poison"], "", nil, http.StatusOK)
			s.eventually("nothing is left of it", func() (string, bool) {
				return sprint(s.there()), len(s.there()) == 1
			})
		})
	}
}

// poisoned returns a scenario whose server panics at a point.
func poisoned(t *testing.T, step crash.Step, point string) *scenario {
	t.Helper()
	s := newStory(t, join(t), step)
	flags := s.flags("--nats-listen", "off", "--data-dir", t.TempDir(), "--durability", "os", "--workers", "1")
	s.now = s.awaitReady(launch(t, "K8S_CLI_PANIC="+point, flags...))
	return s
}

// othersRun checks that the panics about one task do not delay another task.
func (s *scenario) othersRun() {
	s.t.Helper()
	s.eventually("the server panics", func() (string, bool) {
		return s.now.Said(), strings.Contains(s.now.Said(), `msg="panic while reconciling"`)
	})
	s.submit("other", 1, nil)
	s.runs("other")
}
