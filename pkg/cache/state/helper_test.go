package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// noon is the time at which the first entry of every log in these tests was stored.
var noon = time.Date(2025, 10, 5, 12, 0, 0, 0, time.UTC)

// A testState writes the log of a test and folds it.
type testState struct {
	*State
	t      *testing.T
	number uint64
}

// newTestState returns a state that has folded these commands.
func newTestState(t *testing.T, commands ...task.Command) *testState {
	t.Helper()
	w := &testState{State: New(), t: t}
	w.Fold(task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: noon})
	for _, c := range commands {
		w.fold(c)
	}
	return w
}

// fold adds an entry of one command, stored a second after the previous entry.
func (s *testState) fold(c task.Command) (task.Result, []task.Key) {
	s.t.Helper()
	r := s.foldTogether(c)
	if r.Unknown != nil || len(r.Results) != 1 {
		s.t.Fatalf("fold %s: %+v", text(c), r)
	}
	return r.Results[0], r.Changed
}

// foldTogether folds commands as one entry.
func (s *testState) foldTogether(commands ...task.Command) FoldResult {
	s.t.Helper()
	s.number++
	return s.Fold(entry(s.Seq+1, "writer", s.number, commands...))
}

func entry(seq uint64, writer string, number uint64, commands ...task.Command) task.Entry {
	e := task.Entry{
		Version: task.EntryVersion, Log: "log", Writer: writer, Number: number,
		Seq: seq, Time: noon.Add(time.Duration(seq) * time.Second),
	}
	for _, c := range commands {
		e.Commands = append(e.Commands, json.RawMessage(text(c)))
	}
	return e
}

func text(c task.Command) string {
	raw, err := c.Encode()
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Short forms of the commands in these tests.

func submit(user, id string) task.Command {
	return task.Command{Submit: &task.Submit{ID: id, User: user, Image: "image", Task: task.Spec{
		Name: "train", Run: "true", Envs: map[string]string{"A": "1"}, Volumes: map[string]string{"/data": "data"},
	}}}
}

func submitNodes(user, id string, nodes int) task.Command {
	c := submit(user, id)
	c.Submit.Task.NumNodes = nodes
	return c
}

func stop(user, id string) task.Command {
	return task.Command{Stop: &task.Stop{User: user, ID: id}}
}

func stopAll(user string) task.Command { return task.Command{StopAll: &task.StopAll{User: user}} }

// stopGroup stops the tasks in a group, or all tasks if group is empty.
func stopGroup(user, group string) task.Command {
	return task.Command{StopAll: &task.StopAll{User: user, Group: group}}
}

func stopEveryone(user string) task.Command {
	return task.Command{StopAll: &task.StopAll{User: user, AllUsers: true}}
}

func resolved(id, claim string) task.Command {
	return task.Command{Resolved: &task.Resolved{ID: id, Claims: map[string]string{"data": claim}}}
}

func delayed(k task.Key, reason string) task.Command {
	return task.Command{Blocked: &task.Blocked{Key: k, Reason: reason, Message: "because"}}
}

func applied(k task.Key, uids ...string) task.Command {
	return task.Command{Applied: &task.Applied{Key: k, UIDs: uids}}
}

func started(id string) task.Command {
	return task.Command{Started: &task.Started{ID: id, Nodes: []task.Node{{Phase: task.Running}}}}
}

func ended(id string, p task.Phase) task.Command {
	return task.Command{Ended: &task.Ended{ID: id, Phase: p, Nodes: []task.Node{{Phase: p}}, Reason: "end"}}
}

func refused(k task.Key, reason string) task.Command {
	return task.Command{Rejected: &task.Rejected{Key: k, Reason: reason, Message: "because"}}
}

func gone(k task.Key) task.Command { return task.Command{CleanedUp: &task.CleanedUp{Key: k}} }

func create(user, id, name string) task.Command {
	return task.Command{Create: &task.Create{ID: id, User: user, Volume: task.Volume{Name: name, Size: "1Gi"}}}
}

func adoptedVolume(user, id string) task.Command {
	return task.Command{Adopted: &task.Adopted{Create: create(user, id, "data").Create, Hash: "hash", CreatedAt: noon, UIDs: []string{"w"}}}
}

func remove(user, id string) task.Command {
	return task.Command{Delete: &task.Delete{User: user, ID: id}}
}

// summary returns the fields of a task that commands of the log decide.
func summary(r *task.Record) string {
	if r == nil {
		return "none"
	}
	s := string(r.Phase)
	for _, word := range []struct {
		text string
		say  bool
	}{
		{"claims " + r.Claims["data"], r.Claims != nil},
		{fmt.Sprint("uids ", r.UIDs), r.UIDs != nil},
		{"because " + r.Reason, r.Reason != ""},
		{"gone", r.CleanedUp},
	} {
		if word.say {
			s += ", " + word.text
		}
	}
	return s
}

// volumeSummary is summary for a volume.
func volumeSummary(v *task.VolumeRecord) string {
	if v == nil {
		return "none"
	}
	s := v.Create.User
	for _, word := range []struct {
		text string
		say  bool
	}{
		{"uid " + v.UID, v.UID != ""},
		{"refused", v.Rejected},
		{"because " + v.Reason, v.Reason != ""},
		{"deleted", v.Deleted},
		{"gone", v.CleanedUp},
	} {
		if word.say {
			s += ", " + word.text
		}
	}
	return s
}

func history(commands ...task.Command) []task.Command { return slices.Clip(commands) }
