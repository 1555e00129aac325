package crash

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/test/testkit"
)

// last is the last passing of a point that the tests use, for steps whose first passing is not
// enough: the Jobs of tasks with several nodes, and facts about tasks after facts about
// volumes.
var last = map[crash.Step]int{
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

// telling is the passing that leaves the most half done, if it is not the first.
var telling = map[crash.Step]int{
	crash.CreateJob:     3, // one or two Jobs of three exist
	crash.CreateService: 2, // all Jobs of three exist
}

// reconciling are the steps after which a task that a user may stop is half reconciled.
var reconciling = []crash.Step{
	crash.CreateJob, crash.CreateService, crash.CreateSecret, crash.AppendApplied, crash.ResumeJob, crash.PublishPeers, crash.AppendRejected, crash.Lead,
}

// gate lists the points that run with -short.
var gate = []string{
	"TestPausedAndTakenOver/before-create-job:3",    // the server that slept creates a Job of a task that another one has reconciled
	"TestKilled/after-create-job:3",                 // some Jobs of a task exist
	"TestKilled/before-append-applied:1",            // all Jobs exist, and the log does not say so
	"TestPausedAndTakenOver/after-append-applied:1", // another server resumes the Jobs, and a user stops the task
	"TestPausedAndTakenOver/before-append-ended:1",  // two servers append that a node has ended
	"TestKilled/after-append-ended:1",               // the log says that a node has ended, and its task has objects
	"TestPausedAndTakenOver/before-store-entry:1",   // the server that slept stores an entry of a former leader
	"TestKilled/after-store-entry:1",                // the entry is stored, and its writer does not know
}

const (
	before = "before"
	after  = "after"

	// shortestLease is the Lease of two servers. A test on a slow machine, where the first server
	// loses its Lease before it comes to its crash point, starts again with a longer Lease.
	shortestLease = 10 * time.Second
)

// A runner runs the scenario with a server that ends or stops at a point of a step.
type runner func(t *testing.T, side string, step crash.Step, point string)

// points runs the scenario once for each chosen point, at its telling passing; with -exhaustive, at
// all passings of all points.
func points(t *testing.T, chosen func(side string, step crash.Step) bool, run runner) {
	t.Helper()
	need(t)
	t.Parallel()
	for _, step := range crash.Steps {
		for _, side := range []string{before, after} {
			from := max(1, telling[step])
			to := from
			if *exhaustive {
				from, to = 1, max(1, last[step])
			} else if !chosen(side, step) {
				continue
			}
			for n := from; n <= to; n++ {
				point := fmt.Sprintf("%s-%s:%d", side, step, n)
				if testing.Short() && !slices.Contains(gate, t.Name()+"/"+point) {
					continue
				}
				t.Run(point, func(t *testing.T) {
					t.Parallel()
					run(t, side, step, point)
				})
			}
		}
	}
}

// A server with an embedded log is killed and started again.
func TestKilled(t *testing.T) {
	ownLog := func(_ string, step crash.Step) bool { return !ofLease(step) }
	points(t, ownLog, func(t *testing.T, _ string, step crash.Step, point string) {
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

// The leader of two servers is stopped (SIGSTOP) until the other server has done all its
// work. Then the first server continues where it was. If the first server stops in the middle
// of reconciling a task, a user stops the task meanwhile.
func TestPausedAndTakenOver(t *testing.T) {
	stale := func(side string, step crash.Step) bool {
		return side == before || slices.Contains(reconciling, step) || ofLease(step)
	}
	points(t, stale, func(t *testing.T, side string, step crash.Step, point string) {
		regrets := side == after && slices.Contains(reconciling, step)
		for lease := shortestLease; !pausedAndTakenOver(t, step, point, lease, regrets); lease *= 2 {
			t.Logf("the first server lost a Lease of %s before it came to %s", lease, point)
		}
	})
}

// pausedAndTakenOver reports whether the first server led until it came to the point.
func pausedAndTakenOver(t *testing.T, step crash.Step, point string, lease time.Duration, regrets bool) bool {
	t.Helper()
	s, first := startTwo(t, step, "K8S_CLI_PAUSE="+point, lease)
	s.regrets = regrets
	second := s.next
	s.next = func() *server { s.asleep(first); return second() }
	s.run()
	if !s.finish(first, point) {
		first.Kill()
		second().Kill()
		return false
	}
	s.awaitLeading(second())
	s.wake(first)
	s.afterwards()
	if n := strings.Count(first.Said(), "Successfully acquired lease"); n > 1 && step == crash.RenewLease {
		t.Error("the server that slept took the Lease from the one that leads")
	}
	return true
}

// ofLease reports whether only a server with a Lease has a step.
func ofLease(step crash.Step) bool { return step == crash.RenewLease || step == crash.Lead }

// finish runs a scenario to its end and reports whether its first server reached the crash point.
// Only a server that lost its Lease to another one, because the machine is slow, may fail to reach it.
func (s *scenario) finish(first *server, point string) bool {
	s.t.Helper()
	if s.step == crash.Lead && !first.isReached() {
		first.Signal(syscall.SIGTERM) // the first server leads until then
		testkit.Wait(s.t, patience, "the crash point", first.reached.Found(), first.Ended())
	}
	s.settles()
	lost := func() bool { return s.rival && !first.isReached() && stoppedLine.MatchString(first.Said()) }
	if s.step == crash.AppendExpireHistory || s.grows() { // these steps take longer
		s.eventually(point, func() (string, bool) { return "", s.replaced || lost() })
	}
	if !first.isReached() && !lost() {
		s.t.Fatalf("the server never came to %s; it said:\n%s", point, first.Said())
	}
	return first.isReached()
}

// startTwo starts two servers on one NATS. The first server leads, and its setting names a
// crash point.
func startTwo(t *testing.T, step crash.Step, setting string, lease time.Duration) (*scenario, *server) {
	t.Helper()
	s := newStory(t, join(t), step)
	s.place()
	flags := s.flags("--nats-url", s.runNATS(), "--lease-duration", lease.String())
	first := s.awaitReady(launch(t, setting, flags...))
	testkit.Wait(t, patience, "the first server to lead", first.Line(leadingLine).Found(), first.reached.Found())
	second := launch(t, "", flags...)
	s.now, s.rival, s.next = first, true, func() *server {
		second = s.awaitReady(second)
		return second
	}
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
