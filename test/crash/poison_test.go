package crash

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

// A panic while reconciling a task fails the task, with a reason, and leaves no object of
// the task. Other tasks continue.
func TestPanicWhileReconcilingTask(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-create-job", "before-append-applied", "after-resume-job", "before-append-started"} {
		poisoned(t, point, func(t *testing.T, s *scenario) {
			s.submit("poison", 2, nil)
			if strings.HasSuffix(point, string(crash.AppendStarted)) {
				s.runs("poison")
				s.play(t, s.jobs("poison")[0], corev1.PodRunning)
			}
			s.await("poison", "failed with a reason", func(got task.Status) bool {
				return got.Phase == task.Failed && got.Metadata.Reason == task.ReasonInternal && got.Metadata.Message != ""
			})
		})
	}
}

// A panic while stopping a task delays no other task, and the next attempt stops the task.
func TestPanicWhileStoppingTask(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before-delete-job", "after-append-cleaned-up"} {
		poisoned(t, point, func(_ *testing.T, s *scenario) {
			s.submit("poison", 2, nil)
			s.runs("poison")
			s.stop("poison")
		})
	}
}

func TestPanicWhileReconcilingVolume(t *testing.T) {
	t.Parallel()
	poisoned(t, "after-create-claim", func(_ *testing.T, s *scenario) {
		s.create("poison")
		s.eventually("the volume fails", func() (string, bool) {
			got := string(s.do(http.MethodGet, "/volumes/"+s.volumes["poison"], "", nil, http.StatusOK))
			return got, strings.Contains(got, `"Failed"`) && strings.Contains(got, task.ReasonInternal)
		})
		s.do(http.MethodDelete, "/volumes/"+s.volumes["poison"], "", nil, http.StatusOK)
	})
}

// poisoned runs act with a server that panics at a point, and checks that another task runs
// meanwhile and that no object of what the server panicked about is left.
func poisoned(t *testing.T, point string, act func(t *testing.T, s *scenario)) {
	t.Helper()
	t.Run(point, func(t *testing.T) {
		t.Parallel()
		long(t)
		need(t)
		s := newStory(t, join(t), "")
		flags := s.flags("--nats-listen", "off", "--data-dir", t.TempDir(), "--durability", "os", "--workers", "1")
		s.now = s.awaitReady(launch(t, "K8S_CLI_PANIC="+point, flags...))
		act(t, s)
		s.eventually("the server panics", func() (string, bool) {
			return s.now.Said(), strings.Contains(s.now.Said(), `msg="panic while reconciling"`)
		})
		s.submit("other", 1, nil)
		s.runs("other")
		s.eventually("nothing is left of it", func() (string, bool) {
			return sprint(s.there()), len(s.there()) == 1
		})
		s.listing() // fails the test if poison was stopped and is not
	})
}
