package features

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// TestCIScript runs the script for CI systems: its exit code is that of the task, and it stops the
// task of a job that is cancelled.
func TestCIScript(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	ann.login(t)
	ann.put(t, map[string]string{
		"task.yaml":    "envs: {CODE: 0}\n" + yaml("run", "echo begun\nexit $CODE"),
		"endless.yaml": soonKilled + yaml("run", endless),
		"wrong.yaml":   "run: true\ncpus: 1\n",
	})
	for _, tt := range []struct {
		name   string
		flags  []string
		code   int
		out    string
		result string
	}{
		{"completed", []string{"task.yaml"}, 0, "begun\n", "completed"},
		{"failed", []string{"task.yaml", "--env", "CODE=3"}, 1, "begun\n", "failed"},
		{"a sweep", []string{"task.yaml", "--grid", "CODE=0,3"}, 1, "begun", "failed"},
		{"a wrong file", []string{"wrong.yaml"}, 75, "", ""},
		{"a wrong flag", []string{"task.yaml", "--wrong"}, 2, "", ""},
		{"without a file", nil, 2, "", ""},
		{"no server", []string{"task.yaml", "--api-url", "http://127.0.0.1:1"}, 75, "", ""},
	} {
		c, outputs := ann.ciScript(t, tt.flags...)
		c.start(t)
		r := c.end(t)
		if r.code != tt.code || !strings.Contains(r.out, tt.out) || outputs(t)["result"] != tt.result {
			t.Errorf("%s: exit code %d, want %d; outputs %q\n%s%s", tt.name, r.code, tt.code, outputs(t), r.out, r.errOut)
		}
	}
	c, outputs := ann.ciScript(t, "endless.yaml")
	c.start(t)
	c.out.awaitText(t, "begun\n")
	must.Succeed(t, c.Process.Signal(syscall.SIGINT))
	r := c.end(t)
	got := outputs(t)
	if r.code != 130 || got["result"] != "cancelled" || len(strings.Fields(got["task-ids"])) != 1 {
		t.Fatalf("exit code %d, outputs %q\n%s%s", r.code, got, r.out, r.errOut)
	}
	ann.await(t, got["task-ids"], task.Stopped)
}

// The script logs in with the token of the user, and removes the login at its end.
func TestCIScriptWithToken(t *testing.T) {
	t.Parallel()
	s := start(t, "--auth", "token", "--tokens-file", tokensFile(t, "ann"))
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"task.yaml": yaml("run", "echo $((6 * 7))")})
	tmp := t.TempDir()
	for token, code := range map[string]int{"token-of-ann": 0, "another": 75} {
		c, outputs := ann.ciScript(t, "task.yaml")
		c.Env = append(c.Env, "K8S_CLI_TOKEN="+token, "TMPDIR="+tmp)
		c.start(t)
		r := c.end(t)
		if r.code != code || strings.Contains(r.out, "42\n") != (code == 0) || (outputs(t)["result"] == "completed") != (code == 0) {
			t.Errorf("token %q: exit code %d, want %d\n%s%s", token, r.code, code, r.out, r.errOut)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the script left %v, %v", left, err)
	}
}

// A CI system runs no command that a task prints.
func TestCIScriptPassesNoCommandsOn(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.login(t)
	ann.put(t, map[string]string{"task.yaml": yaml("run", "echo '::error::injected'\necho 'x##vso[task.setvariable variable=PATH]injected'\necho '##[error]injected'\n")})
	for _, system := range []string{"GITHUB_ACTIONS", "TF_BUILD"} {
		c, _ := ann.ciScript(t, "task.yaml")
		c.Env = append(c.Env, system+"=true")
		c.start(t)
		r := c.end(t)
		out, held := r.out, false
		switch system {
		case "GITHUB_ACTIONS":
			first, rest, _ := strings.Cut(out, "\n")
			token, stops := strings.CutPrefix(first, "::stop-commands::")
			before, after, resumes := strings.Cut(rest, "\n::"+token+"::\n")
			held = stops && len(token) == 32 && resumes && strings.Contains(before, "::error::injected") && !strings.Contains(after, "injected")
		case "TF_BUILD":
			held = strings.Contains(out, "x# #vso[task.setvariable variable=PATH]injected") && !strings.Contains(out, "##vso[") && !strings.Contains(out, "##[")
		}
		if r.code != 0 || !held {
			t.Errorf("%s: exit code %d\n%s%s", system, r.code, r.out, r.errOut)
		}
	}
}

// ciScript returns the script for CI systems as a command, and a function that returns its outputs.
func (u *user) ciScript(t *testing.T, arguments ...string) (*command, func(t *testing.T) map[string]string) {
	t.Helper()
	script, err := filepath.Abs("../../clients/ci/run.sh")
	must.Succeed(t, err)
	c := u.prepare(t)
	c.Path, c.Args = script, append([]string{script}, arguments...)
	file := filepath.Join(t.TempDir(), "output")
	c.Env = append(c.Env, "K8S_CLI="+testkit.Program(t, "k8s-cli"), "GITHUB_OUTPUT="+file, "GITHUB_STEP_SUMMARY="+file+"-summary", "PATH="+os.Getenv("PATH"))
	return c, func(t *testing.T) map[string]string {
		t.Helper()
		outputs := map[string]string{}
		text, _ := os.ReadFile(file) // absent before the end of a task
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			outputs[name] = value
		}
		return outputs
	}
}
