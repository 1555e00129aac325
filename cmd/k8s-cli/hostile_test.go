package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/test/testkit/must"
)

// everyCommand lists the commands that send requests to a server. FILE stands for a task
// file.
var everyCommand = []string{
	"auth whoami", "auth login --token x",
	"jobs submit -d FILE", "jobs submit -d FILE FILE", "jobs submit FILE", "jobs submit --dry-run FILE", "jobs rerun -d a",
	"jobs list", "jobs list -o wide --all-users", "jobs status a", "jobs status a b", "jobs spec a", "jobs stop a", "jobs stop --all",
	"jobs logs a", "jobs wait a", "jobs events a", "jobs events a -f", "jobs list --watch",
	"volumes create v 1Gi", "volumes list", "volumes list -o wide", "volumes status a", "volumes delete a --force", "volumes events a",
	"gpus", "nodes", "nodes -o yaml", "jobs list -q", "jobs list -o jsonpath={.tasks[*].name}", "jobs status a -o jsonpath={.name}", "ls -d", "jobs get a",
	"jobs logs a b --parallel --no-follow", "stop -n a", "jobs top", "jobs top a b",
	"jobs list -o json", "jobs list -o yaml", "jobs events a -f -o json", "jobs events a -f -o yaml", "volumes status a -o yaml", "auth whoami -o json",
}

func arguments(t *testing.T, command string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "task.yaml")
	must.Write(t, file, "run: 'true'\nsecrets: {PW: hush}\n")
	return strings.Fields(strings.ReplaceAll(command, "FILE", file))
}

// TestNoCommandFollowsARedirect checks that only the server that the user names receives
// the content of a request.
func TestNoCommandFollowsARedirect(t *testing.T) {
	var shown atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		shown.Add(1)
		_, _ = fmt.Fprint(w, "{}")
	}))
	defer thief.Close()
	for _, command := range everyCommand {
		code, _, talk := runAgainst(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, arguments(t, command)...)
		if want := " redirects to " + thief.URL + "/"; !strings.Contains(talk, want) || code == 0 && command != "auth whoami" && command != "auth whoami -o json" {
			t.Errorf("%s: exit code %d, talk %q", command, code, talk)
		}
	}
	if n := shown.Load(); n != 0 {
		t.Errorf("another server got %d requests", n)
	}
}

// TestAnswersCannotControlTheTerminal checks that no command prints characters of an answer
// that control a terminal.
func TestAnswersCannotControlTheTerminal(t *testing.T) {
	for _, command := range everyCommand {
		for name, handle := range map[string]http.HandlerFunc{
			"answers": hostileAnswers,
			"refusals": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				encode(w, filled[task.Detail]())
			},
			"faults": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "\u009b31m\u202e")
				w.WriteHeader(http.StatusInternalServerError)
			},
		} {
			_, out, talk := runAgainst(t, handle, arguments(t, command)...)
			if i := strings.IndexFunc(out+talk, obeyed); i >= 0 {
				t.Errorf("%s, %s: a terminal obeys %.40q in %q", command, name, (out + talk)[i:], out+talk)
			}
			if name == "refusals" && command != "auth whoami" && !strings.Contains(talk, `\u202e`) {
				t.Errorf("%s, %s: it says %q", command, name, talk)
			}
		}
	}
}

func obeyed(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) }

// hostileAnswers sends documented answers whose strings contain characters that control a
// terminal. The log of a task is excluded, because the CLI prints logs unchanged.
func hostileAnswers(w http.ResponseWriter, r *http.Request) {
	part := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	last := part[len(part)-1]
	switch {
	case r.URL.Path == "/whoami":
		encode(w, filled[task.Whoami]())
	case last == "logs":
	case r.Header.Get("Last-Event-ID") != "": // ends the stream
		w.WriteHeader(http.StatusUnauthorized)
		encode(w, filled[task.Detail]())
	case last == "events" && r.Header.Get("Accept") == "text/event-stream":
		w.Header().Set("Content-Type", "text/event-stream")
		event := filled[task.Event]()
		for n, kind := range []task.Kind{task.KindVolume, task.KindTask} {
			event.ID, event.Type, event.Kind = task.EventID{Seq: 2, N: n}, task.EventPhase, kind
			raw, _ := json.Marshal(event)
			fmt.Fprintf(w, "id: 2.%d\ndata: %s\n\n", n, raw)
		}
		event.Status = string(task.Completed)
		raw, _ := json.Marshal(event)
		fmt.Fprintf(w, "id: 2.3\ndata: %s\n\n", raw)
	case last == "events":
		encode(w, filled[task.EventList]())
	case last == "batch":
		encode(w, task.Batch{Results: []task.BatchResult{filled[task.BatchResult](), {ID: hostile}}})
	case last == "preview":
		encode(w, filled[task.Preview]())
	case last == "submit":
		encode(w, filled[task.Submitted]())
	case last == "create":
		encode(w, filled[task.Created]())
	case last == "spec":
		encode(w, task.Spec{Run: "true", Name: "n", Envs: map[string]string{"A": hostile}})
	case last == "top":
		encode(w, filled[task.TopTask]())
	case last == "stop" && len(part) == 2:
		encode(w, filled[task.StopAllResponse]())
	case last == "stop":
		encode(w, filled[task.StopResponse]())
	case r.URL.Path == "/capacity":
		c := filled[overview.Capacity]()
		c.Known, c.Waiting.Pods = true, 1
		encode(w, c)
	case r.URL.Path == "/tasks" && r.FormValue("view") == "row":
		encode(w, filled[overview.Rows]())
	case r.URL.Path == "/tasks":
		encode(w, filled[task.List]())
	case r.URL.Path == "/volumes":
		encode(w, filled[task.VolumeList]())
	case r.Method == http.MethodDelete:
		encode(w, filled[task.Deleted]())
	case part[0] == "volumes":
		encode(w, filled[task.VolumeStatus]())
	default:
		s := filled[task.Status]()
		s.Phase = task.Failed
		encode(w, s)
	}
}

func encode(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// filled returns a T in which every string is hostile.
func filled[T any]() (v T) {
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(at(1)))
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"kind": "\u009b31m\u202e"}`))
	case v.Kind() == reflect.String:
		v.SetString(hostile)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}
