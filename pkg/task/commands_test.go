package task

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task/outputs"
)

func TestCommandsAreReadAsTheyWereWritten(t *testing.T) {
	key := Key{KindTask, "a"}
	node := Node{Rank: 1, Phase: Failed, Job: "j", Pod: "p", ExitCode: new(3), StartedAt: new(noon), MaxUsed: &Amounts{CPUs: 0.25, Memory: 7}}
	commands := []Command{
		{Submit: &Submit{ID: "a", User: "ann", Image: "i", Key: "k", Group: "g", Task: Spec{
			Name: "n", NumNodes: 2, Workdir: "/", Envs: map[string]string{"A": "<&>\u2028\x00"}, Run: "echo '$$' && \"x\"\n",
			Resources: Resources{CPUs: "4+", Ports: []string{"80"}, UseSpot: true, DiskSize: 9}, Volumes: map[string]string{"/d": "d"},
		}}},
		{Stop: &Stop{User: "ann", ID: "a"}},
		{StopAll: &StopAll{User: "ann", AllUsers: true, Group: "g", Filter: &Filter{
			Conditions: Conditions{Phases: []Phase{Pending}, Name: "n", NamePrefix: "n", NameContains: []string{"n"}, Labels: []string{"a=b"}, Annotations: []string{"a"}, Points: []string{"A=1"}, Group: "g", GPUs: []string{"8"}},
			Not:        &Conditions{Name: "m"}, Since: "1h", Before: "2h", From: noon, Until: noon,
		}}},
		{Create: &Create{ID: "a", User: "ann", Volume: Volume{Name: "d", Size: "1Gi", AccessModes: []string{"ReadWriteMany"}}}},
		{Delete: &Delete{User: "ann", ID: "a"}},
		{Admitted: &Admitted{IDs: []string{"a", "b"}, Limits: JobLimits{Total: 9, PerUser: 8}}},
		{Resolved: &Resolved{ID: "a", Claims: map[string]string{"d": "d-1"}}},
		{Blocked: &Blocked{Key: key, Reason: "r", Message: "m"}},
		{Applied: &Applied{Key: key, UIDs: []string{"u"}}},
		{Started: &Started{ID: "a", Nodes: []Node{node}}},
		{Restarted: &Restarted{ID: "a", Attempts: []Attempt{{Rank: 1, Number: 2, MaxAttempts: 3, Pod: "p", UID: "u", ExitCode: new(3), Reason: "r", LastLines: "o", CreatedAt: noon, StartedAt: new(noon)}}}},
		{Ended: &Ended{ID: "a", Phase: Failed, Nodes: []Node{node}, Reason: "r", Message: "m", NotBefore: noon}},
		{Rejected: &Rejected{Key: key, Reason: "r", Message: "m"}},
		{CleanedUp: &CleanedUp{Key: key}},
		{Adopted: &Adopted{Submit: &Submit{ID: "a", User: "ann"}, Hash: "h", CreatedAt: noon, UIDs: []string{"u"}}},
		{Claimed: &Claimed{ID: "a", Phase: VolumeBound}},
		{OutputsStored: &outputs.Stored{ID: "a", Rank: 1, Archive: outputs.Archive{Object: "o", Size: 7, Sum: "s", Missing: []string{"x"}}, Error: "e", Quota: 9}},
		{Upload: &Upload{User: "ann", Sum: "s", Object: "o", Size: 7}},
		{EndSessions: &EndSessions{User: "ann", ID: "s", Until: noon}},
		{DeleteUploads: &DeleteUploads{Uploads: []UploadKey{{"ann", "s"}}, Then: noon}},
		{ExpireHistory: &ExpireHistory{IDs: []string{"a"}}},
		{SnapshotMarker: &SnapshotMarker{}},
		{SnapshotStored: &SnapshotStored{Seq: 7, Hash: "h"}},
	}
	if fields := reflect.TypeFor[Command]().NumField(); len(commands) != fields {
		t.Errorf("%d kinds are tried, there are %d", len(commands), fields)
	}
	for _, c := range commands {
		raw, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeCommand(raw); err != nil || !cmp.Equal(c, got) {
			t.Errorf("%s: %v\n%s", raw, err, cmp.Diff(c, got))
		}
		if hash, ok := SubmissionHash(raw); ok != (c.Submit != nil) || ok && hash != c.Submit.Hash() {
			t.Errorf("%s: its hash is %s, want that of the submission, if it is one", raw, hash)
		}
		if strings.Contains(string(raw), `\u003c`) || strings.HasSuffix(string(raw), "\n") {
			t.Errorf("%s", raw)
		}
	}
}

func TestCommandsOfANewerRelease(t *testing.T) {
	for _, raw := range []string{
		``, `{}`, `null`, `[]`, `"stop"`, `{"stop"`, `{"stop":null}`,
		`{"teleport":{"id":"a"}}`,
		`{"stop":{"user":"ann","id":"a","when":"later"}}`,
		`{"submit":{"id":"a","user":"ann","task":{"run":"x","nice":1}}}`,
		`{"stop":{"user":7}}`,
	} {
		if c, err := DecodeCommand([]byte(raw)); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %+v, %v", raw, c, err)
		}
	}
}

// TestHashesDoNotChange checks the hashes that Jobs in clusters carry, and the hashes of requests
// that the log contains. A change would turn every running task into an orphan, and later releases
// compare the hashes of requests. New fields change neither.
func TestHashesDoNotChange(t *testing.T) {
	s := Submit{ID: "abc12345", User: "ann", Image: "python", Task: Spec{Name: "train", Run: "true", Envs: map[string]string{"B": "2", "A": "<1>"}}}
	whole := Submit{ID: "abc12345", User: "ann@example.com", Image: "python:3.13-slim", Key: "k", Task: Spec{
		Name: "train", NumNodes: 2, Workdir: "/srv", Envs: map[string]string{"A": "<b>"}, FileMounts: map[string]string{"/f": "g"},
		Volumes: map[string]string{"/d": "data"}, Setup: "s", Run: "r",
		Resources: Resources{CPUs: "4", Memory: "16", Accelerators: "V100:2", InstanceType: "m5", UseSpot: true, DiskSize: 9, Ports: []string{"80"}, ImageID: "docker:x"},
	}}
	c := Create{ID: "1a2b3c4d", User: "ann", Volume: Volume{Name: "data", Size: "1Gi"}}
	spec := Spec{Name: "train", NumNodes: 2, Run: "true"}
	raw, err := Command{Submit: &s}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	inLog, ok := SubmissionHash(raw)
	if !ok {
		t.Errorf("%s is no submission", raw)
	}
	for what, pair := range map[string][2]string{
		"submission":                 {s.Hash(), "8bd2fa715c8279787f95a499ec19505f"},
		"its line":                   {inLog, "8bd2fa715c8279787f95a499ec19505f"},
		"submission with all fields": {whole.Hash(), "d3619b65109d723968c53dfd398f8070"},
		"its request":                {whole.Body(), "d5430afaeca9e713282fd4143547e539"},
		"request":                    {Submit{ID: "a", User: "ann", Task: spec}.Body(), "0726d6e13ea2faa47c4b0ce6305a907c"},
		"request with secrets":       {Submit{ID: "b", User: "bob", Task: spec, SecretsMAC: "mac"}.Body(), "c389c12ddac0ecfdb32a6c2a668032a2"},
		"creation":                   {c.Hash(), "0d34664a8d8fdd1ff7e3ef0ecef2e2b6"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, want %s", what, pair[0], pair[1])
		}
	}
}

func TestHashesDistinguishSubmissions(t *testing.T) {
	base := Submit{ID: "a", User: "ann", Image: "i", Task: Spec{Run: "true"}}
	seen := map[string]bool{base.Hash(): true}
	for name, alter := range map[string]func(*Submit){
		"id": func(s *Submit) { s.ID = "b" }, "user": func(s *Submit) { s.User = "Ann" },
		"image": func(s *Submit) { s.Image = "j" }, "task": func(s *Submit) { s.Task.Run = "false" },
	} {
		other := base
		alter(&other)
		if seen[other.Hash()] {
			t.Errorf("another %s has the same hash", name)
		}
		seen[other.Hash()] = true
	}
}

func TestBodyIgnoresTheChoicesOfTheServer(t *testing.T) {
	one := Submit{ID: "a", User: "ann", Image: "i", Key: "k", Task: Spec{Run: "true"}}
	other := Submit{ID: "b", User: "ann", Image: "j", Key: "k", Task: Spec{Run: "true"}}
	if one.Body() != other.Body() {
		t.Error("the same body has two names")
	}
	other.Task.Run = "false"
	if one.Body() == other.Body() {
		t.Error("two bodies have the same name")
	}
}

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	stop := json.RawMessage(`{"stop":{"user":"<a>","id":"b"}}`)
	for want, e := range map[string]Entry{
		`{"v":1,"log":"log","writer":"","n":0}`:                                                        {Version: EntryVersion, Log: "log"},
		`{"v":1,"log":"log","writer":"w","n":7,"commands":[{"stop":{"user":"<a>","id":"b"}}]}`:         {Version: EntryVersion, Log: "log", Writer: "w", Number: 7, Commands: []json.RawMessage{stop}},
		`{"v":1,"log":"log","writer":"w","n":7,"commands":[{"stop":{"user":"<a>","id":"b"}},{"x":1}]}`: {Version: EntryVersion, Log: "log", Writer: "w", Number: 7, Commands: []json.RawMessage{stop, json.RawMessage(`{"x":1}`)}},
		`{"v":1,"log":"log","writer":"w","n":7,"traces":[{"first":0,"count":1,"parent":"p"}],"commands":[{"stop":{"user":"<a>","id":"b"}}]}`: {
			Version: EntryVersion, Log: "log", Writer: "w", Number: 7, Traces: []Trace{{Count: 1, Parent: "p"}}, Commands: []json.RawMessage{stop},
		},
	} {
		raw, err := e.Encode()
		if err != nil || string(raw) != want {
			t.Errorf("%s, %v, want %s", raw, err, want)
		}
		if plain, err := Marshal(e); err != nil || string(plain) != want {
			t.Errorf("encoding/json writes %s, %v", plain, err)
		}
		if got, err := DecodeEntry(raw); err != nil || !cmp.Equal(e, got) {
			t.Errorf("%v\n%s", err, cmp.Diff(e, got))
		}
	}
	// A field that a newer release adds to the entry is ignored.
	if e, err := DecodeEntry([]byte(`{"v":1,"log":"log","more":[{"x":1}],"writer":"w","n":7,"commands":[{"x":1}]}`)); err != nil || e.Number != 7 || len(e.Commands) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	for _, raw := range []string{``, `[]`, `{"v":"1"}`, `{"v":1}{"v":1}`} {
		if e, err := DecodeEntry([]byte(raw)); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %+v, %v", raw, e, err)
		}
	}
}

// TestTracesAreNoPartOfASubmission checks that a trace changes neither the hash nor the
// body of a submission.
func TestTracesAreNoPartOfASubmission(t *testing.T) {
	plain := Submit{ID: "a", User: "ann", Task: Spec{Run: "true"}}
	traced := plain
	traced.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if plain.Hash() != traced.Hash() || plain.Body() != traced.Body() {
		t.Error("it has another name")
	}
	if got := (&Record{Submit: traced}).TraceID(); got != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("its id is %q", got)
	}
	for _, parent := range []string{"", "00-", "00-4bf92f3577b34da6a3ce929d0e0e473"} {
		if got := (&Record{Submit: Submit{Trace: parent}}).TraceID(); got != "" {
			t.Errorf("%q has the id %q", parent, got)
		}
	}
}
