// Package bugs contains the seeded bugs: changes of the sources that each break one promise
// of the server. The harness must detect every seeded bug; otherwise a run without
// violations would prove nothing.
package bugs

import (
	"fmt"
	"slices"
	"strings"

	"k8s-cli/test/faults/check"
)

// An Edit replaces a text that occurs exactly once in a file.
type Edit struct{ File, Old, New string }

// A Bug is a change of the sources, with the scenario that detects the bug.
type Bug struct {
	Name  string
	About string
	Edits []Edit

	Scenario string
	Rounds   int // 0 means the default of the scenario; the same for Tasks
	Tasks    int
	Rules    []check.Rule // the rules that may report the bug; one is enough
}

// Apply returns the text of a file after the edits of the bug in this file.
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

// Files returns the files that the bug changes, without duplicates.
func (b Bug) Files() (files []string) {
	for _, e := range b.Edits {
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	return files
}

// All lists the bugs that the harness must detect.
var All = []Bug{
	{
		Name:  "no-second-look",
		About: "the server keeps a Job that a paused controller creates after the task was stopped and cleaned up",
		Edits: []Edit{{"pkg/submit/reconcile_task.go", "	case v.CleanedUp:\n		return 0, c.deleteLateJobs(ctx, v)\n", "	case v.CleanedUp:\n		return 0, nil\n"}},

		Scenario: "late", Rounds: 1, Rules: []check.Rule{check.Remains},
	},
	{
		Name:  "deposed-leader-deletes",
		About: "a controller that terminates during the creation of a Job deletes the Job",
		Edits: []Edit{{
			"pkg/submit/create_jobs.go", "		if live, err = c.createJob(ctx, job, seen); err == nil {\n",
			"		live, err = c.createJob(ctx, job, seen)\n		if ctx.Err() != nil {\n			_ = c.jobs.Delete(context.WithoutCancel(ctx), job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})\n		}\n		if err == nil {\n",
		}},

		Scenario: "deposed", Rounds: 1, Rules: []check.Rule{check.Deleted, check.Outcome, check.Twice},
	},
	{
		Name:  "successor-by-ended",
		About: "a task starts when a task that it comes after has ended in any phase",
		Edits: []Edit{{
			"pkg/cache/state/successors.go", "if ended.Phase() != task.Completed && slices",
			"if false && slices",
		}},

		Scenario: "chains", Rounds: 1, Tasks: 100, Rules: []check.Rule{check.Unordered},
	},
	{
		Name:  "answer-before-write",
		About: "the server accepts a submission before NATS has stored it",
		Edits: []Edit{{
			"pkg/queue/append.go", "	if !w.enqueue(ctx, k, late) {\n",
			"	if first.Submit != nil {\n		w.calls <- k\n		return []task.Result{{ID: first.Submit.ID}}, nil\n	}\n	if !w.enqueue(ctx, k, late) {\n",
		}},

		Scenario: "kills", Rounds: 5, Tasks: 500, Rules: []check.Rule{check.Lost, check.Invisible},
	},
	{
		Name:  "hash-of-object",
		About: "the controller compares an existing Job with the Job that it built, although the API server adds defaults, and not with the hash of the submission",
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
		About: "the controller creates the Jobs of a task before the claim of its volume",
		Edits: []Edit{{"pkg/cache/volume_resolution.go", "			return \"\", nil // not created yet", "			return v.ClaimName(), nil // not created yet"}},

		Scenario: "claims", Rules: []check.Rule{check.Early},
	},
	{
		Name:  "clock-in-fold",
		About: "the fold uses the clock of its pod instead of the log time",
		Edits: []Edit{
			{"pkg/cache/state/state.go", "	s.Time = s.logTime(e)\n", "	s.Time = time.Now().UTC()\n"},
		},

		Scenario: "kills", Rounds: 2, Tasks: 200, Rules: []check.Rule{check.Changed, check.Diverged},
	},
	{
		Name:  "info-without-leader",
		About: "a pod accepts the end of the log from a former leader of the stream, or from replicas without a leader",
		Edits: []Edit{
			{"pkg/queue/streams/leader.go", "	if info.Config.Replicas <= 1 {\n		return true // one", "	if info.Config.Replicas <= 9 {\n		return true // one"},
		},

		Scenario: "partition", Rounds: 2, Tasks: 300, Rules: []check.Rule{check.Invisible},
	},
	{
		Name:  "sweep-by-listing",
		About: "the server removes snapshots that are missing in a list, although a lagging replica may have sent the list",
		Edits: []Edit{
			{"pkg/queue/snapshot_loop.go", "		if log.SnapshotDue() {\n", "		if l, ok := log.(*Log); ok {\n			err = l.pruneSnapshots(ctx, l.follower.id())\n		}\n		if log.SnapshotDue() {\n"},
			{"pkg/queue/compaction.go", "	usable, err := l.usableSnapshots(ctx, log, head.StreamState)\n	switch {\n	case err != nil:\n		return err\n	case len(usable) < retainedSnapshots:\n		return l.removeOtherSnapshots(ctx, log)\n	}\n	return l.pruneBefore(ctx, usable[:retainedSnapshots])\n", "	objects, err := l.bucket.ListFromAnyReplica(ctx)\n	if err != nil {\n		return err\n	}\n	var usable []storedSnapshot\n	for _, o := range objects {\n		usable = append(usable, snapshotOf(o))\n	}\n	return l.pruneBefore(ctx, usable)\n"},
			{"pkg/queue/blob/bucket.go", "	\"math\"\n", "	\"math\"\n	\"slices\"\n"},
			{"pkg/queue/blob/bucket.go", "	first, err := b.firstMessage(ctx, kept)\n	if err != nil {\n		return err\n	}\n", ""},
			{"pkg/queue/blob/bucket.go", "err == nil && last.Seq >= first {", "slices.ContainsFunc(kept, func(o *jetstream.ObjectInfo) bool {\n			return subject == b.metaSubject(o.Name) || subject == b.chunkSubject(o.NUID)\n		}) {"},
		},

		Scenario: "lagging", Rounds: 4, Tasks: 300, Rules: []check.Rule{check.Uncovered, check.Incomplete},
	},
	{
		Name:  "start-without-snapshot",
		About: "a server starts from a truncated log if a list contains no snapshot, although a lagging replica may have sent the list",
		Edits: []Edit{
			{"pkg/queue/snapshot_store.go", "	objects, err := k.bucket.List(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list", "	objects, err := k.bucket.ListFromAnyReplica(ctx)\n	if err != nil {\n		return nil, fmt.Errorf(\"list"},
			{"pkg/queue/bootstrap_from_snapshot.go", "		if !head.complete && !f.acceptLoss {", "		if !head.complete && false {"},
		},

		Scenario: "lagging", Rounds: 2, Rules: []check.Rule{check.Incomplete, check.Lost, check.Diverged, check.Invisible},
	},
	{
		Name:  "late-command-sent",
		About: "the writer sends a command after an outage of NATS, although the caller got the response 503",
		Edits: []Edit{
			{"pkg/task/log_entry.go", "return e.Until != 0 && e.Time.UnixMilli() > e.Until", "return false"},
			{"pkg/queue/append_results.go", "return !k.state.CompareAndSwap(callWaiting, callSent) })", "k.state.CompareAndSwap(callWaiting, callSent); return false })"},
			{"pkg/queue/append_results.go", "	return !slices.ContainsFunc(b.calls, func(k *call) bool { return k.state.Load() != callAbandoned })", "	return false"},
		},

		Scenario: "partition", Rounds: 2, Tasks: 300, Rules: []check.Rule{check.Late, check.Denied},
	},
	{
		Name:  "not-found-is-gone",
		About: "a read of events treats an event as expired if a lagging replica does not have the event yet",
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
		About: "the controller creates the Jobs of a task before the fact Admitted is folded",
		Edits: []Edit{
			{"pkg/submit/reconcile_task.go", "	case !v.Admitted:\n		return 0, c.rejectTooLarge", "	case !v.Admitted && v.Reason == \"never\":\n		return 0, c.rejectTooLarge"},
			{"pkg/submit/controller.go", "	if k.Kind == task.KindVolume || !c.store.AwaitsAdmission(k.ID) {\n		q.Add(k)\n	}\n", "	q.Add(k)\n"},
		},

		Scenario: "crowd", Rounds: 1, Tasks: 200, Rules: []check.Rule{check.Crowded},
	},
}
