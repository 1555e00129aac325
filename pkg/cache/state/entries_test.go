package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func TestARepeatedEntryHasItsFirstVerdictsAndNoEffect(t *testing.T) {
	s := newTestState(t)
	commands := []task.Command{submit("ann", "a"), submit("ann", "a"), stopAll("ann"), stopAll("ann")}
	first := s.Fold(entry(2, "w", 1, commands...))
	want := []task.Result{{ID: "a"}, {ID: "a", Rejection: taken}, {Count: 1}, {}}
	if diff := cmp.Diff(want, first.Results); diff != "" {
		t.Fatalf("verdicts (-want +got):\n%s", diff)
	}
	record := s.Tasks["a"]
	again := s.Fold(entry(3, "w", 1, commands...))
	if diff := cmp.Diff(first.Results, again.Results); diff != "" || len(again.Changed) != 0 || s.Tasks["a"] != record {
		t.Errorf("again, it changes %v; verdicts (-first +again):\n%s", again.Changed, diff)
	}
	if s.Seq != 3 {
		t.Errorf("the state stands at entry %d, want 3", s.Seq)
	}
}

func TestEntriesOfUnknownWriters(t *testing.T) {
	before := history(submit("ann", "a"))
	for _, tt := range []struct {
		name string
		e    task.Entry
	}{
		{"of another log", task.Entry{Version: task.EntryVersion, Log: "other", Writer: "writer", Number: 2}},
		{"of a writer whose first entry is missing", task.Entry{Version: task.EntryVersion, Log: "log", Writer: "new", Number: 2}},
		{"that leave a number out", task.Entry{Version: task.EntryVersion, Log: "log", Writer: "writer", Number: 3}},
		{"with the number 0", task.Entry{Version: task.EntryVersion, Log: "log", Writer: "new", Number: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, before...)
			tt.e.Seq = s.Seq + 1
			for _, c := range []task.Command{submit("ann", "b"), stop("ann", "a")} {
				tt.e.Commands = append(tt.e.Commands, json.RawMessage(text(c)))
			}
			r := s.Fold(tt.e)
			want := []task.Result{{Rejection: task.RejectedUnknownWriter}, {Rejection: task.RejectedUnknownWriter}}
			if diff := cmp.Diff(want, r.Results); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if len(r.Changed) != 0 || s.Tasks["a"].Record().Phase != task.Pending || s.Tasks["b"] != nil {
				t.Errorf("it changed %v", r.Changed)
			}
			if v, _ := s.fold(stop("ann", "a")); v.Rejection != "" {
				t.Errorf("the writer's next entry: %+v", v)
			}
		})
	}
}

func TestAnEntryOfANewerRelease(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int
		command string
	}{
		{"its version", 2, text(submit("ann", "a"))},
		{"an unknown command", 1, `{"teleport":{"id":"a"}}`},
		{"an unknown field", 1, `{"stop":{"user":"ann","id":"a","when":"now"}}`},
		{"an empty command", 1, `{}`},
		{"not a command", 1, `[1]`},
		{"null", 1, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t)
			r := s.Fold(task.Entry{Version: tt.version, Log: "log", Writer: "w", Number: 1, Seq: 2, Commands: []json.RawMessage{json.RawMessage(tt.command)}})
			if !errors.Is(r.Unknown, task.ErrUnknownCommand) {
				t.Errorf("result %+v", r)
			}
		})
	}
}

func TestLogTimeIsUTC(t *testing.T) {
	s := newTestState(t)
	e := entry(2, "w", 1, submit("ann", "a"))
	e.Time = e.Time.In(time.FixedZone("east", 3600))
	s.Fold(e)
	if zone := s.Tasks["a"].Record().CreatedAt.Location(); zone != time.UTC {
		t.Errorf("created in zone %v", zone)
	}
}

func TestTheWriterThatWroteNothingForLongestIsDropped(t *testing.T) {
	s := newTestState(t)
	seq := uint64(1)
	write := func(writer string, number uint64) task.Result {
		seq++
		return s.Fold(entry(seq, writer, number, submit("ann", fmt.Sprint(seq)))).Results[0]
	}
	for i := range maxWriters {
		write(fmt.Sprint("writer", i), 1)
	}
	write("writer0", 2) // now the last entry of writer1 is the oldest
	write("new", 1)
	if got := len(s.writers); got != maxWriters {
		t.Errorf("%d writers are remembered, want %d", got, maxWriters)
	}
	if v := write("writer1", 2); v.Rejection != task.RejectedUnknownWriter {
		t.Errorf("the forgotten writer: %+v", v)
	}
	for writer, number := range map[string]uint64{"writer0": 3, "writer2": 2, "new": 2} {
		if v := write(writer, number); v.Rejection != "" {
			t.Errorf("%s: %+v", writer, v)
		}
	}
}
