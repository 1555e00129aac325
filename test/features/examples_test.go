package features

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const examples = "../../examples"

// TestExamples runs the commands in the README of every example as written, and checks
// that they print what the README shows.
func TestExamples(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(examples + "/*/README.md")
	if err != nil || len(pages) < 14 {
		t.Fatalf("%d examples, %v", len(pages), err)
	}
	s := startForFiles(t)
	for _, page := range pages {
		name := filepath.Base(filepath.Dir(page))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := s.as(t, name+"@example.com")
			u.login(t)
			must.Succeed(t, os.CopyFS(filepath.Join(u.home, "examples"), os.DirFS(examples)))
			u.validate(t, filepath.Join(u.home, "examples", name))
			u.session(t, commandsOf(t, page))
		})
	}
}

// validate checks the task files of an example.
func (u *user) validate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		values := []string{"--env", "SHARD=1", "--env", "URL=http://127.0.0.1", "--secret", "API_TOKEN=x"} // of the files that require them
		c := u.prepare(t, append([]string{"jobs", "validate", entry.Name()}, values...)...)
		c.Dir = filepath.Dir(path)
		c.start(t)
		c.end(t).ok(t)
		return nil
	})
	must.Succeed(t, err)
}

// A shown is a command of a README and the output that the README shows for it.
type shown struct {
	command string
	prints  []string
	code    int                             // exit code
	alike   func(line, printed string) bool // compares lines; nil uses patternOf
}

// commandsOf returns the commands in the console blocks of a page.
func commandsOf(t *testing.T, page string) (all []shown) {
	t.Helper()
	text := must.Read(t, page)
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && isCommand:
			all = append(all, shown{command: command})
		case inside && len(all) > 0:
			last := &all[len(all)-1]
			last.prints = append(last.prints, line)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return all
}

// session runs commands in one shell and checks what each command prints. env has additional
// variables, NAME=VALUE.
func (u *user) session(t *testing.T, commands []shown, env ...string) {
	t.Helper()
	const end = "\x1e" // printed after the output of each command, with its exit code
	script := "exec 2>&1\n" + untilShown
	for _, c := range commands {
		script += c.command + "\nprintf '" + end + "%s" + end + "' $?\n"
	}
	ctx, cancel := testkit.WithPatience(t.Context(), 2*patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = u.home
	shell.Env = append(testkit.Environment(u.home), "PATH="+os.Getenv(testkit.EnvPrograms)+":"+os.Getenv("PATH"), "K8S_CLI_API_URL="+u.url, "K8S_CLI_INSECURE_HTTP=true", "X_USER="+u.name)
	shell.Env = append(shell.Env, env...)
	shell.Cancel = func() error { return shell.Process.Signal(syscall.SIGTERM) }
	shell.WaitDelay = time.Second // for programs that outlive the shell
	out, err := shell.CombinedOutput()
	parts := strings.Split(string(out), end)
	for i, c := range commands {
		if 2*i+1 >= len(parts) {
			t.Fatalf("%s: did not end (%v) after\n%s", c.command, err, parts[len(parts)-1])
		}
		if code, _ := strconv.Atoi(parts[2*i+1]); code != c.code {
			t.Fatalf("%s: exit code %d, want %d\n%s", c.command, code, c.code, parts[2*i])
		}
		if missing := c.missing(parts[2*i]); missing != "" {
			t.Errorf("$ %s\n%s\nThe README shows this line, which was not printed in its place: %s", c.command, parts[2*i], missing)
		}
	}
}

// missing returns the first line that the README shows and the command did not print in this
// order. A command may print more lines than the README shows. Lines of nodes may have any
// order.
func (c shown) missing(printed string) string {
	lines := strings.Split(printed, "\n")
	next := 0
	for _, want := range c.prints {
		same, from := c.matcher(want), next
		if strings.HasPrefix(want, "node-") {
			from = 0
		}
		at := from
		for at < len(lines) && !same(lines[at]) {
			at++
		}
		if at == len(lines) {
			return want
		}
		if from == next && want != "..." {
			next = at + 1
		}
	}
	return ""
}

func (c shown) matcher(want string) func(printed string) bool {
	if c.alike == nil {
		return patternOf(want).MatchString
	}
	return func(printed string) bool { return c.alike(want, printed) }
}

var (
	anyText  = regexp.MustCompile(`\\\.\\\.\\\.`)
	idShown  = regexp.MustCompile(`\b[a-z0-9]{8}\b`)
	podShown = regexp.MustCompile(`(\{8\})-[a-z0-9]{5}\b`)
	hasDigit = regexp.MustCompile(`[0-9]`)
)

// patternOf returns an expression for a line of a README: three dots match any text, and an
// id matches any id.
func patternOf(line string) *regexp.Regexp {
	text := anyText.ReplaceAllString(regexp.QuoteMeta(line), `.*`)
	text = idShown.ReplaceAllStringFunc(text, func(word string) string {
		if !hasDigit.MatchString(word) {
			return word
		}
		return `[a-z0-9]{8}`
	})
	text = podShown.ReplaceAllString(text, fmt.Sprintf("${1}-%s", `[a-z0-9]{5}`))
	return regexp.MustCompile("^" + text + "$")
}
