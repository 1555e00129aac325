// Package bugs holds faults of our own making: changes of the sources, each of
// which breaks one promise. The harness has to notice every one of them, or it
// would prove nothing.
package bugs

import (
	"fmt"
	"strings"

	"k8s-cli/test/faults/check"
)

// An Edit replaces a text that a file holds exactly once.
type Edit struct{ File, Old, New string }

// A Bug is a change of the sources and how it is caught.
type Bug struct {
	Name  string
	About string
	Edits []Edit

	Scenario string
	Rounds   int // 0 means the scenario's own, as for Tasks
	Tasks    int
	Rules    []check.Rule // any of which may report it
}

// Apply returns the text of a file with the edits of the bug that are its.
func (b Bug) Apply(file, text string) (string, error) {
	for _, e := range b.Edits {
		if e.File != file {
			continue
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("bug %s: %s holds this %d times, not once:\n%s", b.Name, file, n, e.Old)
		}
		text = strings.Replace(text, e.Old, e.New, 1)
	}
	return text, nil
}

// Files returns the files that the bug changes, each once.
func (b Bug) Files() (files []string) {
	seen := map[string]bool{}
	for _, e := range b.Edits {
		if !seen[e.File] {
			seen[e.File] = true
			files = append(files, e.File)
		}
	}
	return files
}

// All are the bugs that have to be caught.
var All = []Bug{
	{
		Name:  "no-second-look",
		About: "what a controller creates after its task was stopped and found to have nothing left stays",
		Edits: []Edit{{"pkg/submit/tasks.go", "	case v.CleanedUp:\n		return 0, c.deleteLateJobs(ctx, v)\n", "	case v.CleanedUp:\n		return 0, nil\n"}},

		Scenario: "late", Rounds: 1, Rules: []check.Rule{check.Remains},
	},
	{
		Name:  "deposed-leader-deletes",
		About: "a controller that is told to end in the middle of a creation takes the Job away again",
		Edits: []Edit{{
			"pkg/submit/apply.go", "		if live, err = c.createJob(ctx, job, seen); err == nil {\n",
			"		live, err = c.createJob(ctx, job, seen)\n		if ctx.Err() != nil {\n			_ = c.jobs.Delete(context.WithoutCancel(ctx), job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})\n		}\n		if err == nil {\n",
		}},

		Scenario: "deposed", Rounds: 1, Rules: []check.Rule{check.Deleted, check.Outcome, check.Twice},
	},
	{
		Name:  "folded-twice",
		About: "an entry that its writer repeated, since no acknowledgement came, is folded again",
		Edits: []Edit{{"pkg/cache/state/state.go", "	case e.Number == w.number:\n		return FoldResult{Results: w.results}\n", "	case e.Number == w.number:\n		again, _ := s.apply(e.Commands, e.Traces)\n		return again\n"}},

		Scenario: "repeats", Rules: []check.Rule{check.Doubled, check.Phantom},
	},
	{
		Name:  "blind-follower",
		About: "a follower does not notice that its log was purged or made anew",
		Edits: []Edit{
			{"pkg/queue/follower_bootstrap.go", "	if !same {\n", "	if false && !same {\n"},
			{"pkg/queue/follower.go", "	return !s.known || info.Created.Equal(s.created) && continues(info.State, s.folded)\n", "	return true\n"},
			{"pkg/queue/follower.go", "	if e.StartsLog && e.Log != f.id() {", "	if false && e.StartsLog {"},
			{"pkg/queue/decode_entry.go", "seq != before+1 {", "seq != before+1 && false {"},
		},

		Scenario: "relog", Rounds: 1, Rules: []check.Rule{check.Diverged},
	},
	{
		Name:  "deletes-strangers",
		About: "Jobs without a record are deleted rather than adopted",
		Edits: []Edit{{
			"pkg/submit/tasks.go", "		return 0, c.adopt(ctx, v, seen)\n",
			"		for _, j := range v.Strays {\n			_ = c.deleteJob(ctx, j.Name, j.UID)\n		}\n		return 0, nil\n",
		}},

		Scenario: "lostlog", Rounds: 1, Rules: []check.Rule{check.Deleted},
	},
	{
		Name:  "answer-before-write",
		About: "a submission is answered before it is stored",
		Edits: []Edit{{
			"pkg/queue/writer.go", "	k := newCall(raw).withTrace(c)\n",
			"	k := newCall(raw).withTrace(c)\n	if c.Submit != nil {\n		w.calls <- k\n		return task.Result{ID: c.Submit.ID}, nil\n	}\n",
		}},

		Scenario: "kills", Rounds: 5, Tasks: 500, Rules: []check.Rule{check.Lost, check.Invisible},
	},
	{
		Name:  "hash-of-object",
		About: "a Job is recognised by what was built, which the API server completes, not by what was asked for",
		Edits: []Edit{{
			"pkg/submit/rejections.go", "func checkOurs(live, wanted metav1.Object) error {\n",
			"func checkOurs(live, wanted metav1.Object) error {\n	if l, ok := live.(*batchv1.Job); ok {\n		a, _ := task.Marshal(l.Spec)\n		b, _ := task.Marshal(wanted.(*batchv1.Job).Spec)\n		if string(a) != string(b) {\n			return errForeign\n		}\n	}\n",
		}, {
			"pkg/submit/rejections.go", "	corev1 \"k8s.io/api/core/v1\"\n", "	batchv1 \"k8s.io/api/batch/v1\"\n	corev1 \"k8s.io/api/core/v1\"\n",
		}},

		Scenario: "api", Rounds: 3, Tasks: 400, Rules: []check.Rule{check.Outcome},
	},
	{
		Name:  "early-claim",
		About: "a task mounts a volume whose claim is not created yet",
		Edits: []Edit{{"pkg/cache/volume_resolution.go", "			return \"\", nil // on its way", "			return v.ClaimName(), nil // on its way"}},

		Scenario: "claims", Rules: []check.Rule{check.Early},
	},
	{
		Name:  "clock-in-fold",
		About: "the fold takes the time from the clock of its pod",
		Edits: []Edit{
			{"pkg/cache/state/state.go", "	s.Time = s.logTime(e)\n", "	s.Time = time.Now().UTC()\n"},
		},

		Scenario: "kills", Rounds: 2, Tasks: 200, Rules: []check.Rule{check.Changed, check.Diverged},
	},
	{
		Name:  "name-for-uid",
		About: "a Job of the same name is taken for the one that was created",
		Edits: []Edit{
			{"pkg/submit/tasks.go", "apierrors.IsNotFound(err) || err == nil && string(live.UID) != v.UIDs[rank]:", "apierrors.IsNotFound(err) || err == nil && live.Name != name:"},
			{"pkg/submit/mutations.go", "		Preconditions:     metav1.NewUIDPreconditions(uid),\n", ""},
			{"pkg/submit/mutations.go", "func deleteOptions(uid string)", "func deleteOptions(string)"},
		},

		Scenario: "stranger", Rules: []check.Rule{check.Foreign, check.Unfinished},
	},
	{
		Name:  "info-without-leader",
		About: "where the log ends is believed of a NATS node that leads no more, or of a group without a leader",
		Edits: []Edit{
			{"pkg/queue/streams/leader.go", "	if info.Config.Replicas <= 1 {\n		return true // one", "	if info.Config.Replicas <= 9 {\n		return true // one"},
		},

		Scenario: "partition", Rounds: 2, Tasks: 300, Rules: []check.Rule{check.Invisible},
	},
	{
		Name:  "sweep-by-listing",
		About: "snapshots that a listing lacks are removed, which a replica that lags may have answered",
		Edits: []Edit{
			{"pkg/queue/snapshots.go", "	objects, err := k.bucket.List(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list", "	objects, err := k.bucket.ListFromAnyReplica(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list"},
			{"pkg/queue/compaction.go", "	if len(usable) < retainedSnapshots {\n		return true, nil\n	}\n", "	if len(usable) < retainedSnapshots {\n		return true, l.pruneBefore(ctx, usable)\n	}\n"},
			{"pkg/queue/blob/bucket.go", "	\"math\"\n", "	\"math\"\n	\"slices\"\n"},
			{"pkg/queue/blob/bucket.go", "err == nil && last.Seq >= first {", "slices.ContainsFunc(kept, func(o *jetstream.ObjectInfo) bool {\n			return subject == b.metaSubject(o.Name) || subject == b.chunkSubject(o.NUID)\n		}) || first == 0 {"},
		},

		Scenario: "lagging", Rounds: 2, Rules: []check.Rule{check.Uncovered, check.Incomplete},
	},
	{
		Name:  "start-without-snapshot",
		About: "a server starts with what is left of the log if a listing, which a replica that lags may have answered, has no snapshot",
		Edits: []Edit{
			{"pkg/queue/snapshots.go", "	objects, err := k.bucket.List(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list", "	objects, err := k.bucket.ListFromAnyReplica(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list"},
			{"pkg/queue/follower_bootstrap.go", "		if !head.complete && !f.acceptLoss {", "		if !head.complete && false {"},
		},

		Scenario: "lagging", Rounds: 2, Rules: []check.Rule{check.Incomplete, check.Lost, check.Diverged, check.Invisible},
	},
	{
		Name:  "late-command-sent",
		About: "a command whose caller was answered 503 is sent whenever NATS is back",
		Edits: []Edit{
			{"pkg/task/log_entry.go", "return e.Until != 0 && e.Time.UnixMilli() > e.Until", "return false"},
			{"pkg/queue/inflight.go", "return !k.state.CompareAndSwap(callWaiting, callSent) })", "k.state.CompareAndSwap(callWaiting, callSent); return false })"},
			{"pkg/queue/inflight.go", "	return !slices.ContainsFunc(b.calls, func(k *call) bool { return k.state.Load() != callAbandoned })", "	return false"},
		},

		Scenario: "partition", Rounds: 2, Tasks: 300, Rules: []check.Rule{check.Late, check.Denied},
	},
	{
		Name:  "flag-lowers-replicas",
		About: "a server that is not told how many replicas the streams have makes them one",
		Edits: []Edit{
			{"pkg/queue/stream_settings.go", "	c.WarnDifferent(has, want)\n	return stream, nil", "	has.Replicas = want.Replicas\n	return js.UpdateStream(ctx, has)"},
		},

		Scenario: "flags", Rounds: 1, Rules: []check.Rule{check.Replicas},
	},
	{
		Name:  "not-found-is-gone",
		About: "an event that a lagging replica does not have yet is taken for one that has expired",
		Edits: []Edit{
			{"pkg/queue/events/read.go", "	m, err := streams.Get(ctx, s.js, subject.EventStream, streams.GetRequest{Seq: seq})\n", "	stream, err := s.js.Stream(ctx, subject.EventStream)\n	if err != nil {\n		return at, false, err\n	}\n	m, err := stream.GetMsg(ctx, seq)\n"},
			{"pkg/queue/events/read.go", "		now, failed := s.js.Stream(ctx, subject.EventStream)\n		if failed != nil {\n			return at, false, failed\n		}\n		if seq >= now.CachedInfo().State.FirstSeq {\n			return at, false, streams.ErrUnconfirmed\n		}\n", "		return at, false, err\n"},
			{"pkg/queue/events/read.go", "	header, err := nats.DecodeHeadersMsg(m.Header)\n	if err != nil {\n		return at, false, fmt.Errorf(\"read the header of an event: %w\", err)\n	}\n", "	header := m.Header\n"},
			{"pkg/queue/events/read.go", "	\"github.com/nats-io/nats.go\"\n", ""},
			{"pkg/queue/events/read.go", "	if pending <= limit && start <= last {", "	if pending <= limit && start <= last && false {"},
		},

		Scenario: "lagging", Rounds: 2, Rules: []check.Rule{check.Event, check.Unfinished},
	},
	{
		Name:  "job-before-admission",
		About: "the Jobs of a task are created before its admission is folded",
		Edits: []Edit{
			{"pkg/submit/tasks.go", "	case !v.Admitted:\n		return 0, c.rejectTooLarge", "	case !v.Admitted && v.Reason == \"never\":\n		return 0, c.rejectTooLarge"},
		},

		Scenario: "crowd", Rounds: 1, Tasks: 200, Rules: []check.Rule{check.Crowded},
	},
}
