package queue

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// noSubmissions retains no submission.
func noSubmissions(_, _ uint64) map[uint64]bool { return nil }

// A submissionLedger records the entries in which tasks were submitted.
type submissionLedger map[string]uint64

func (l submissionLedger) submissions(first, last uint64) map[uint64]bool {
	in := map[uint64]bool{}
	for _, seq := range l {
		if first <= seq && seq <= last {
			in[seq] = true
		}
	}
	return in
}

// submit appends tasks that differ, one entry each.
func (l submissionLedger) submit(t *testing.T, log *running, ids ...string) {
	t.Helper()
	for _, id := range ids {
		c := task.Command{Submit: &task.Submit{
			ID: id, User: "ann", Task: task.Spec{Name: id, Run: "echo " + id, Secrets: map[string]string{"TOKEN": task.Redacted}},
			Sealed: []byte("sealed of " + id), SecretsMAC: "mark of " + id,
		}}
		if _, err := log.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		log.waitReadIndex(t)
		l[id] = log.follower.applied()
	}
}

// cut stores a snapshot and compacts the log.
func (l submissionLedger) cut(t *testing.T, log *running, folded *fakeStateMachine) {
	t.Helper()
	log.waitReadIndex(t)
	log.cutTo(t, folded.snapshot(t, log), l.submissions)
}

// check reads the submission of each task of the ledger.
func (l submissionLedger) check(t *testing.T, log *running) {
	t.Helper()
	for id, seq := range l {
		var got task.Spec
		natstest.Patiently(t, func() (err error) {
			got, err = log.Submission(t.Context(), seq, id)
			return err
		})
		want := task.Spec{Name: id, Run: "echo " + id, Secrets: map[string]string{"TOKEN": task.Redacted}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("submission of %s (-want +got):\n%s", id, diff)
		}
	}
}

func archivedNames(t *testing.T, log *running) []string {
	t.Helper()
	all, err := log.archive.parts.List(natstest.Context(t))
	must.Succeed(t, err)
	return slices.Sorted(maps.Keys(all))
}

func readPart(t *testing.T, log *running, name string) ([]byte, error) {
	t.Helper()
	r, err := log.archive.parts.Open(natstest.Context(t), name)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestSubmissionsOutliveTheLog(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	l := submissionLedger{}
	l.submit(t, log, "one", "two", "gone", "three")
	l.check(t, log)
	gone := l["gone"]
	delete(l, "gone")
	for _, id := range []string{"four", "five", "six"} {
		l.cut(t, log, folded)
		l.submit(t, log, id)
		l.check(t, log)
	}
	if at := begins(t, log); at <= l["three"] {
		t.Fatalf("the log begins at entry %d, and was not cut", at)
	}
	for id, seq := range map[string]uint64{"gone": gone, "other": l["one"], "nobody": 1} {
		if _, err := log.Submission(natstest.Context(t), seq, id); !errors.Is(err, problem.NotFound) {
			t.Errorf("the submission of %s, which is not there: %v", id, err)
		}
	}
	for _, name := range archivedNames(t, log) {
		if blob, err := readPart(t, log, name); err != nil || strings.Contains(string(blob), `"sealed":`) || strings.Contains(string(blob), "mark of") {
			t.Errorf("the archive holds secrets: %v\n%s", err, blob)
		}
	}
}

func TestSubmissionsWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	log := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	l := submissionLedger{}
	l.submit(t, log, "one")
	server.Close()
	if _, err := log.Submission(natstest.Context(t), l["one"], "one"); !errors.Is(err, problem.Unavailable) {
		t.Errorf("it says %v", err)
	}
}

func TestArchiveHoldsOnlySubmissionsWithRecords(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	l := submissionLedger{}
	l.submit(t, log, "one")
	l.cut(t, log, folded)
	l.submit(t, log, "two")
	l.cut(t, log, folded)
	l.submit(t, log, "three")
	l.cut(t, log, folded)
	must.Succeed(t, log.archive.parts.Store(natstest.Context(t), "of another log", map[string]string{logHeader: "another", firstHeader: "1", lastHeader: "99"}, []byte("1 {}\n")))
	before := archivedNames(t, log)
	delete(l, "one")
	l.submit(t, log, "four")
	l.cut(t, log, folded)
	after := archivedNames(t, log)
	if slices.Contains(after, "of another log") || slices.Contains(after, before[0]) || len(after) == 0 {
		t.Errorf("archived %q, before one task was forgotten %q", after, before)
	}
	l.check(t, log)
}

// A pod that is no longer the leader may continue for a while. The part that it archives of a
// log that another pod has compacted does not replace the part of that pod.
func TestALogThatIsCutWhileItIsArchived(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	l := submissionLedger{}
	l.submit(t, log, "one", "two", "three")
	first := l["one"]
	l.cut(t, log, folded)
	l.submit(t, log, "four")
	l.cut(t, log, folded)
	if err := log.archive.storeEntries(natstest.Context(t), log.follower.id(), first, l["three"], l.submissions); err == nil {
		t.Error("a log that was cut is archived again")
	}
	l.check(t, log)
}

func TestPartsOfTheArchive(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	l := submissionLedger{}
	log.archive.partBytes = 40 << 10
	run := strings.Repeat("x", 7<<10)
	for range 2 * log.archive.partBytes / len(run) {
		id := task.NewID()
		if _, err := log.Append(t.Context(), task.Command{Submit: &task.Submit{ID: id, User: "ann", Task: task.Spec{Run: run}}}); err != nil {
			t.Fatal(err)
		}
		log.waitReadIndex(t)
		l[id] = log.follower.applied()
	}
	l.cut(t, log, folded)
	log.put(t, "last")
	l.cut(t, log, folded)
	if n := len(archivedNames(t, log)); n < 2 {
		t.Errorf("%d objects for %d entries", n, len(l))
	}
	for id, seq := range l {
		var got task.Spec
		natstest.Patiently(t, func() (err error) {
			got, err = log.Submission(t.Context(), seq, id)
			return err
		})
		if got.Run != run {
			t.Errorf("submission of %s has %d bytes", id, len(got.Run))
		}
	}
}

// An archive that rejects every part delays compaction only as long as the log has space.
func TestAnArchiveThatTakesNothing(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(context.Context) error{
		"and says so":         func(context.Context) error { return errors.New("nothing is taken") },
		"and does not answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			log, folded := start(t)
			l := submissionLedger{}
			l.submit(t, log, "one", "two")
			l.cut(t, log, folded)
			l.submit(t, log, "three")
			s := folded.snapshot(t, log)
			natstest.Patiently(t, func() error { return log.StoreSnapshot(t.Context(), s) })
			log.publishedThrough.Store(s.seq)
			log.archive.parts, log.archive.timeout = refusing{log.archive.parts, put}, 50*time.Millisecond
			before := begins(t, log)
			if _, err := log.Compact(natstest.Context(t), s.log, l.submissions); err == nil || begins(t, log) != before {
				t.Errorf("dropping: %v; the log begins at entry %d, before it did at %d", err, begins(t, log), before)
			}
			config := log.stream.CachedInfo().Config
			config.MaxBytes = int64(log.stream.CachedInfo().State.Bytes) + 1000 //nolint:gosec // some bytes
			if _, err := log.js.UpdateStream(natstest.Context(t), config); err != nil {
				t.Fatal(err)
			}
			var done bool
			natstest.Patiently(t, func() (err error) {
				done, err = log.Compact(t.Context(), s.log, l.submissions)
				return err
			})
			if !done || begins(t, log) == before {
				t.Errorf("dropping what is too much: %t; it begins at entry %d, before it did at %d", done, begins(t, log), before)
			}
		})
	}
}

func TestLogMustBeCompacted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bytes, limit int64
		want         bool
	}{{0, 0, false}, {mustCompactBytes, 0, false}, {mustCompactBytes + 1, -1, true}, {600, 1000, true}, {500, 1000, false}, {mustCompactBytes + 1, 100 * mustCompactBytes, true}} {
		var r capacity
		r.bytes.Store(tt.bytes)
		r.limit.Store(tt.limit)
		if got := r.mustCompact(); got != tt.want {
			t.Errorf("with %d bytes of %d: %t", tt.bytes, tt.limit, got)
		}
	}
}

type refusing struct {
	partStore
	store func(context.Context) error
}

func (r refusing) Store(ctx context.Context, _ string, _ map[string]string, _ []byte) error {
	return r.store(ctx)
}
