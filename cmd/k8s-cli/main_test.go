package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// runAgainst runs a command as user ann against a server with this handler. It returns
// the exit code, the standard output and the standard error.
func runAgainst(t *testing.T, handle http.HandlerFunc, args ...string) (code int, out, errOut string) {
	t.Helper()
	server := httptest.NewServer(handle)
	defer server.Close()
	var o, talk bytes.Buffer
	e := &env{
		Console:    console.Console{In: strings.NewReader(""), Out: console.NewOutput(&o), ErrOut: &talk},
		lookup:     func(string) (string, bool) { return "", false },
		settings:   account.Settings(t.TempDir()),
		interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		connect: func(_, user string) *client.Client {
			c := client.New(server.URL, user)
			t.Cleanup(c.Close)
			return c
		},
	}
	must.Write(t, filepath.Join(string(e.settings), "user.json"), `{"username":"ann"}`)
	code = run(t.Context(), e, args)
	return code, o.String(), talk.String()
}

func TestListShowsTheNewest50(t *testing.T) {
	var all task.List
	for n := range 120 {
		all.Tasks = append(all.Tasks, task.Status{ID: fmt.Sprintf("task%04d", n), CreatedAt: at(n)})
	}
	var largest int
	handle := func(w http.ResponseWriter, r *http.Request) {
		q, err := query.Parse(r.URL.Query())
		if err != nil {
			t.Error(err)
		}
		largest = max(largest, q.Limit)
		writeList(w, q, all.Tasks)
	}
	for _, tt := range []struct {
		args  string
		shown int
		talk  string
	}{
		{"jobs list", 50, "Showing 50 of 120 tasks; pass --all to show all of them\n"},
		{"jobs list -o wide", 50, "Showing 50 of 120 tasks; pass --all to show all of them\n"},
		{"jobs list --all", 120, ""},
		{"jobs list --limit 3", 3, "Showing 3 of 120 tasks; pass --all to show all of them\n"},
		{"jobs list -o json", 120, ""},
		{"jobs list -o yaml --limit 3", 3, ""},
		{"jobs list -q", 120, ""},
		{"jobs list -q --limit 3", 3, ""},
		{"jobs ls --limit 3 --no-headers", 3, "Showing 3 of 120 tasks; pass --all to show all of them\n"},
	} {
		code, out, talk := runAgainst(t, handle, strings.Fields(tt.args)...)
		if got := strings.Count(out, "task0"); code != 0 || got != tt.shown || talk != tt.talk {
			t.Errorf("%s: exit code %d, %d tasks, talk %q", tt.args, code, got, talk)
		}
		if first, last := strings.Index(out, "task0119"), strings.Index(out, "task0118"); first < 0 || last < first {
			t.Errorf("%s: not newest first:\n%s", tt.args, out)
		}
	}
	if largest != 50 {
		t.Errorf("a request asked for %d tasks, want at most 50, or all", largest)
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   int
		header string
		value  string
		want   string
	}{
		{"the server asks to wait", 503, "Retry-After", "70", "Error: sorry (try again in 1m10s)\n"},
		{"a fault of the server has a number", 500, "X-Request-Id", "r1", "Error: sorry (request r1)\n"},
		{"a fault of the caller needs none", 422, "X-Request-Id", "r1", "Error: sorry\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, talk := runAgainst(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(tt.header, tt.value)
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, `{"detail": "sorry"}`)
			}, "jobs", "list")
			if code != exit.Failure || out != "" || talk != tt.want {
				t.Errorf("exit code %d, output %q, talk %q, want %q", code, out, talk, tt.want)
			}
		})
	}
}

// TestCtrlC interrupts a process that follows a log.
func TestCtrlC(t *testing.T) {
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tasks/abc12345" {
			_ = json.NewEncoder(w).Encode(task.Status{ID: "abc12345", Phase: task.Pending})
			return
		}
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	}))
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), "k8s-cli", "jobs", "logs", "abc12345", "unread")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "K8S_CLI_API_URL="+server.URL)
	login := exec.CommandContext(t.Context(), "k8s-cli", "auth", "login", "ann")
	login.Env = cmd.Env
	must.Succeed(t, login.Run())
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	if _, err := io.ReadFull(out, make([]byte, len("one\n"))); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, cmd.Process.Signal(os.Interrupt))
	<-left
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exit.TaskNotFinished {
		t.Errorf("exit code %d, want %d", code, exit.TaskNotFinished)
	}
	if !strings.Contains(talk.String(), "\nStopped tailing logs\n") || !strings.Contains(talk.String(), "Task abc12345 is still pending: run 'k8s-cli jobs logs abc12345'") {
		t.Errorf("it said %q", talk.String())
	}
}

// leaves are packages of Kubernetes that import no other package of Kubernetes.
var leaves = []string{"k8s.io/apimachinery/pkg/util/duration", "k8s.io/client-go/util/jsonpath", "k8s.io/client-go/third_party/forked/golang/template"}

// TestLinks checks that the CLI does not depend on the large packages of the server.
func TestLinks(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		if slices.Contains(leaves, path) {
			continue
		}
		for _, no := range []string{"k8s.io/", "github.com/gofiber/", "github.com/valyala/", "github.com/nats-io/"} {
			if strings.HasPrefix(path, no) {
				t.Errorf("links %s", path)
			}
		}
		if own, ok := strings.CutPrefix(path, "k8s-cli/pkg/"); ok && own != "task" && !strings.HasPrefix(own, "task/") && own != "taskfile" && own != "taskfile/documents" && own != "client" && !strings.HasPrefix(own, "client/") && own != "exec" && own != "release" && own != "trace" {
			t.Errorf("links %s", path)
		}
	}
}

// TestHelpOfEveryCommand checks that the help of every command is an imperative sentence,
// has an example, and has lines that fit a terminal.
func TestHelpOfEveryCommand(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" { // cobra generates this command
			return
		}
		if !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !strings.Contains(line, "k8s-cli ") {
				t.Errorf("%s: the example %q calls something else", cmd.CommandPath(), line)
			}
		}
		var help strings.Builder
		cmd.SetOut(&help)
		cmd.InitDefaultHelpFlag()
		_ = cmd.Help()
		for line := range strings.Lines(help.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s: a line of the help has %d columns: %q", cmd.CommandPath(), n, line)
			}
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(newRootCommand(&env{}))
}
