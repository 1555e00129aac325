package crash

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/test/testkit"
)

// more is how many passings of a point the tests use where the first passing is not enough:
// the Jobs of tasks with several nodes, and facts about tasks after facts about volumes.
var more = map[crash.Step]int{
	crash.CreateJob:      6, // the Job of one, three Jobs of three, and two attempts for rejected
	crash.ResumeJob:      4, // of the adopted task, and of three
	crash.AppendApplied:  3,
	crash.AppendRejected: 2,
	crash.AppendEnded:    2,
	crash.AppendAdopted:  2,
	crash.DeleteJob:      2,
	crash.StoreEntry:     3,
	crash.CreateService:  2, // of the adopted task, and of three
	crash.PublishPeers:   2,
}

// A runner runs the scenario with a server that ends or stops at a point.
type runner func(t *testing.T, step crash.Step, point string)

// points runs the scenario once for each point of each step and for each of this many
// passings of the point.
func points(t *testing.T, steps []crash.Step, passings func(crash.Step) int, run runner) {
	t.Helper()
	need(t)
	for _, step := range steps {
		for _, side := range []string{"before", "after"} {
			for n := range passings(step) {
				point := fmt.Sprintf("%s-%s:%d", side, step, n+1)
				t.Run(point, func(t *testing.T) {
					t.Parallel()
					run(t, step, point)
				})
			}
		}
	}
}

// few returns how many passings of a point a run uses: without -exhaustive, one for most
// steps.
func few(step crash.Step) int {
	if *exhaustive {
		return many(step)
	}
	if step == crash.CreateJob {
		return 3 // the Job of one, and two Jobs of three
	}
	if step == crash.CreateService {
		return many(step)
	}
	return 1
}

func many(step crash.Step) int { return max(1, more[step]) }

// A server with an embedded log is killed and started again.
func TestKilled(t *testing.T) {
	steps := slices.DeleteFunc(slices.Clone(crash.Steps), func(s crash.Step) bool { return s == crash.RenewLease || s == crash.Lead })
	points(t, steps, many, func(t *testing.T, step crash.Step, point string) {
		s := newStory(t, join(t), step)
		s.place()
		flags := s.flags("--nats-listen", "off", "--data-dir", t.TempDir(), "--durability", "os")
		if s.grows() {
			flags = s.flags("--nats-url", s.runNATS()) // the minimum size of an embedded log is too large to fill it quickly
		}
		first := s.awaitReady(launch(t, "K8S_CLI_CRASH="+point, flags...))
		s.now = first
		s.next = func() *server {
			first.endedAt(t)
			return s.awaitReady(launch(t, "", flags...))
		}
		s.run()
		s.finish(first, point)
		s.afterwards()
	})
}

// The leader of two servers is killed in the middle of reconciling a task. A user stops the
// task before the other server leads.
func TestKilledAndTakenOver(t *testing.T) {
	steps := []crash.Step{crash.CreateJob, crash.CreateService, crash.CreateSecret, crash.AppendApplied, crash.ResumeJob, crash.PublishPeers, crash.AppendRejected, crash.Lead}
	points(t, steps, few, func(t *testing.T, step crash.Step, point string) {
		s, first := startTwo(t, step, "K8S_CLI_CRASH="+point)
		s.regrets = true
		second := s.next
		s.next = func() *server { first.endedAt(t); return second() }
		s.run()
		s.finish(first, point)
		s.afterwards()
	})
}

// The leader of two servers is stopped (SIGSTOP) until the other server has done all its
// work. Then the first server continues where it was.
func TestPausedAndTakenOver(t *testing.T) {
	points(t, crash.Steps, few, func(t *testing.T, step crash.Step, point string) {
		s, first := startTwo(t, step, "K8S_CLI_PAUSE="+point)
		second := s.next
		s.next = func() *server { s.asleep(first); return second() }
		s.run()
		s.finish(first, point)
		s.awaitLeading(second())
		s.wake(first)
		s.afterwards()
		if n := strings.Count(first.Said(), "Successfully acquired lease"); n > 1 && step == crash.RenewLease {
			t.Error("the server that slept took the Lease from the one that leads")
		}
	})
}

// finish runs a scenario to its end and checks that its first server reached the crash
// point.
func (s *scenario) finish(first *server, point string) {
	s.t.Helper()
	if s.step == crash.Lead && !first.isReached() {
		first.Signal(syscall.SIGTERM) // the first server leads until then
		testkit.Wait(s.t, patience, "the crash point", first.reached.Found(), first.Ended())
	}
	s.settles()
	if s.step == crash.AppendExpireHistory || s.grows() { // these steps take longer
		s.eventually(point, func() (string, bool) { return "", s.replaced })
	}
	if !first.isReached() {
		s.t.Fatalf("the server never came to %s; it said:\n%s", point, first.Said())
	}
}

// startTwo starts two servers on one NATS. The first server leads, and its setting names a
// crash point.
func startTwo(t *testing.T, step crash.Step, setting string) (*scenario, *server) {
	t.Helper()
	s := newStory(t, join(t), step)
	s.place()
	flags := s.flags("--nats-url", s.runNATS())
	first := s.awaitReady(launch(t, setting, flags...))
	eventually(t, "the first server leads", func() (string, bool) {
		if first.isReached() {
			return "", true
		}
		got, err := first.ask(t.Context(), http.MethodGet, "/readyz", "", nil)
		return fmt.Sprint(string(got.Body), err), err == nil && strings.Contains(string(got.Body), `"leading":true`)
	})
	second := launch(t, "", flags...)
	s.now, s.next = first, func() *server { return s.awaitReady(second) }
	return s, first
}

// runNATS starts an external NATS and returns its address. If the scenario fills the log,
// the stream of the log is created small, as an operator may do, so that the servers soon
// compact the log.
func (s *scenario) runNATS() string {
	s.t.Helper()
	url := testkit.RunNATS(s.t, s.t.TempDir(), 0).ClientURL()
	if !s.grows() {
		return url
	}
	_, err := testkit.JetStream(s.t, url).CreateStream(s.t.Context(), jetstream.StreamConfig{
		Name: "LOG", Subjects: []string{"log"}, Discard: jetstream.DiscardNew, MaxBytes: 8 * bigScript, MaxMsgSize: 1 << 20,
	})
	if err != nil {
		s.t.Fatalf("make the log's stream: %v", err)
	}
	return url
}
