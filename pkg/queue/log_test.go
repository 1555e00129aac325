package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestAppendReturnsTheVerdictOfTheFold(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	for i, id := range natstest.Names("task", 3) {
		want := task.Result{ID: id, Count: i}
		if diff := cmp.Diff(want, log.put(t, id)); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
	}
}

func TestConcurrentAppendsShareEntries(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	callers, each := natstest.Rounds(64), 8
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			last := -1
			for i := range each {
				id := fmt.Sprintf("%d-%d", caller, i)
				v, err := log.Append(t.Context(), natstest.Submission(id))
				if err != nil || v.ID != id || v.Count <= last {
					t.Errorf("append %s after place %d: %+v, %v", id, last, v, err)
				}
				last = v.Count
			}
		})
	}
	all.Wait()
	if got := len(folded.seen()); got != callers*each {
		t.Errorf("%d commands were folded, want %d", got, callers*each)
	}
	if got := len(folded.stored()); got >= callers*each {
		t.Errorf("%d entries hold %d commands, want fewer", got, callers*each)
	}
}

func TestAnEntryKnowsItsLogWriterNumberAndPlace(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	log.put(t, "one")
	log.put(t, "two")
	entries := folded.stored()
	if len(entries) != 3 {
		t.Fatalf("%d entries, want the log's name and two", len(entries))
	}
	if name := entries[0]; name.Log == "" || name.Writer != "" || len(name.Commands) != 0 {
		t.Errorf("the first entry does not just name the log: %+v", name)
	}
	for i, e := range entries {
		if e.Version != task.EntryVersion || e.Log != entries[0].Log || e.Seq < uint64(i+1) || e.Time.IsZero() {
			t.Errorf("entry %d: %+v", i+1, e)
		}
		if i > 0 && (e.Number != uint64(i) || e.Writer == "" || e.Writer != entries[1].Writer) {
			t.Errorf("entry %d is number %d of %q", i+1, e.Number, e.Writer)
		}
	}
}

func TestARestartFoldsAllAgainInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := &fakeStateMachine{}
	server := natstest.Embed(t, dir)
	log := follow(t, natstest.Connect(t, server), Config{SingleWriter: true}, first)
	for _, id := range natstest.Names("task", 20) {
		log.put(t, id)
	}
	_ = log.stop()
	log.nats.Close()
	server.Close()

	second := &fakeStateMachine{}
	log = follow(t, natstest.Connect(t, natstest.Embed(t, dir)), Config{SingleWriter: true}, second)
	if err := log.WaitCaughtUp(t.Context()); err != nil || !log.IsCaughtUp() {
		t.Fatalf("caught up: %v, %v", log.IsCaughtUp(), err)
	}
	if diff := cmp.Diff(first.stored(), second.stored()); diff != "" {
		t.Errorf("entries after the restart (-before +after):\n%s", diff)
	}
	log.put(t, "next")
	if got := second.seen(); len(got) != 21 || got[20] != "next" {
		t.Errorf("the log does not go on after the restart: %v", got)
	}
}

func TestPodsSeeEntriesOfOtherPods(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	seen := &fakeStateMachine{}
	first := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	second := follow(t, natstest.Connect(t, server), Config{}, seen)
	for _, id := range natstest.Names("task", 50) {
		first.put(t, id)
		second.waitReadIndex(t)
		if got := seen.seen(); len(got) == 0 || got[len(got)-1] != id {
			t.Fatalf("after %s was accepted the other pod has seen %v", id, got)
		}
	}
}

func TestWaitReadIndexAsksOnceForAllReaders(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	log := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	log.waitReadIndex(t)
	before := log.nats.Stats().OutMsgs
	var all sync.WaitGroup
	const readers = 500
	for range readers {
		all.Go(func() { log.waitReadIndex(t) })
	}
	all.Wait()
	if asked := log.nats.Stats().OutMsgs - before; asked >= readers/2 {
		t.Errorf("%d readers cost %d messages", readers, asked)
	}
}

func TestTwoPodsAppendToOneOrder(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	seen := [2]*fakeStateMachine{{}, {}}
	pods := [2]*running{}
	for i := range pods {
		pods[i] = follow(t, natstest.Connect(t, server), Config{}, seen[i])
	}
	var all sync.WaitGroup
	for i, pod := range pods {
		all.Go(func() {
			for _, id := range natstest.Names(fmt.Sprintf("pod%d-", i), 50) {
				if v, err := pod.Append(t.Context(), natstest.Submission(id)); err != nil || v.ID != id {
					t.Errorf("append %s: %+v, %v", id, v, err)
				}
			}
		})
	}
	all.Wait()
	for _, pod := range pods {
		pod.waitReadIndex(t)
	}
	if diff := cmp.Diff(seen[0].seen(), seen[1].seen()); diff != "" {
		t.Errorf("the pods saw two orders (-first +second):\n%s", diff)
	}
	if got := len(seen[0].seen()); got != 100 {
		t.Errorf("%d commands, want 100", got)
	}
}

func TestAnEntryThatWasStoredTwiceIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	folded := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{}, folded)
	log.put(t, "one")
	entries := folded.stored()
	again := must.Encode(t, entries[len(entries)-1])
	for range 2 {
		if _, err := log.js.Publish(natstest.Context(t), subject.Log, again); err != nil {
			t.Fatal(err)
		}
	}
	if v := log.put(t, "two"); v.ID != "two" || v.Count != 1 {
		t.Errorf("verdict %+v", v)
	}
	folded.wantSeen(t, "one", "two")
}

func TestACommandThatIsTooLargeIsNotStored(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	c := natstest.Submission("large")
	c.Submit.Task.Run = strings.Repeat("x", maxEntry)
	if _, err := log.Append(t.Context(), c); !errors.Is(err, problem.TooLarge) {
		t.Errorf("error %v, want one of kind problem.TooLarge", err)
	}
	c.Submit.Task.Run = strings.Repeat("x", maxEntry-1000)
	if _, err := log.Append(t.Context(), c); err != nil {
		t.Errorf("one just small enough: %v", err)
	}
	if got := len(folded.seen()); got != 1 {
		t.Errorf("%d commands were stored, want 1", got)
	}
}

func TestLargeCommandsAreSpreadOverEntries(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	var all sync.WaitGroup
	for _, id := range natstest.Names("large", 24) {
		all.Go(func() {
			c := natstest.Submission(id)
			c.Submit.Task.Run = strings.Repeat("<", maxEntry/4)
			if v, err := log.Append(t.Context(), c); err != nil || v.ID != id {
				t.Errorf("append %s: %+v, %v", id, v, err)
			}
		})
	}
	all.Wait()
	got := folded.seen()
	slices.Sort(got)
	if len(slices.Compact(got)) != 24 {
		t.Errorf("%d commands were stored, want 24", len(got))
	}
}

func TestACommandOfANewerReleaseEndsRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, entry string }{
		{"unknown command", `{"v":1,"log":"%s","writer":"w","n":1,"commands":[{"teleport":{"id":"a"}}]}`},
		{"unknown field of a command", `{"v":1,"log":"%s","writer":"w","n":1,"commands":[{"stop":{"id":"a","user":"b","when":"later"}}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
			l, err := Open(natstest.Context(t), nc, Config{})
			must.Succeed(t, err)
			ended := make(chan error, 1)
			go func() { ended <- l.Run(t.Context(), &fakeStateMachine{}) }()
			must.Succeed(t, l.WaitCaughtUp(t.Context()))
			if _, err := l.js.Publish(natstest.Context(t), subject.Log, fmt.Appendf(nil, tt.entry, l.follower.id())); err != nil {
				t.Fatal(err)
			}
			err = <-ended
			if !errors.Is(err, task.ErrUnknownCommand) || !strings.Contains(err.Error(), "the command log has an entry of a newer release (number 2)") {
				t.Errorf("Run ended with %v", err)
			}
		})
	}
}

func TestAStreamOfOthersIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		stream jetstream.StreamConfig
		want   string
	}{
		{"it has the log's subject", jetstream.StreamConfig{Name: "OTHER", Subjects: []string{subject.Log}}, "subjects overlap"},
		{"it has the log's name", jetstream.StreamConfig{Name: subject.LogStream, Subjects: []string{"app.>"}}, `stream LOG is not a log of k8s-cli: its subjects are ["app.>"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
			js := natstest.JetStream(t, nc)
			stream, err := js.CreateStream(natstest.Context(t), tt.stream)
			must.Succeed(t, err)
			before := stream.CachedInfo().Config
			if _, err := Open(natstest.Context(t), nc, Config{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("open: %v, want an error with %q", err, tt.want)
			}
			after, err := stream.Info(natstest.Context(t))
			must.Succeed(t, err)
			if diff := cmp.Diff(before, after.Config); diff != "" {
				t.Errorf("settings of the other stream (-before +after):\n%s", diff)
			}
		})
	}
}

func TestMessagesOfOthersAreNotTakenForTheLog(t *testing.T) {
	t.Parallel()
	for _, message := range []string{`{"temperature": 21}`, "hello"} {
		nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
		l, err := Open(natstest.Context(t), nc, Config{})
		must.Succeed(t, err)
		if _, err := l.js.Publish(natstest.Context(t), subject.Log, []byte(message)); err != nil {
			t.Fatal(err)
		}
		if err := l.Run(t.Context(), &fakeStateMachine{}); err == nil || !strings.Contains(err.Error(), "stream LOG is not a log of k8s-cli") {
			t.Errorf("Run on a stream that begins with %s: %v", message, err)
		}
	}
}
