package features

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// pythonClient is the directory of the Python client.
const pythonClient = "../../clients/python"

// TestPythonClient runs the tests of the Python client, and reports each of them as a test of its
// own. The tests include the stories, which use these servers with both kinds of the client.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	main, mortal := startForFiles(t, "--notify-hosts", "hooks.example.com", "--allow-exec"), start(t)
	users := []string{"root"}
	for _, story := range []string{"tokens", "limits", "busy"} {
		users = append(users, story+"-blocking", story+"-asyncio")
	}
	strict := start(t, "--auth", "token", "--tokens-file", tokensFile(t, users...), "--admins", "root",
		"--max-active-tasks", "1", "--max-event-streams", "2", "--max-event-streams-per-user", "1")
	proxied := start(t, "--trusted-proxies", "192.0.2.1")
	urls := map[string]string{"main": main.url, "mortal": mortal.url, "strict": strict.url, "proxied": proxied.url}
	reportClient(t, tellStories(t, urls, mortal, runPython))
}

// tellStories runs tests that use servers, and restarts the server mortal when the tests ask for
// it.
func tellStories(t *testing.T, urls map[string]string, mortal *server, run func(t *testing.T, env ...string) []clientTest) []clientTest {
	t.Helper()
	restarts, control := make(chan chan<- string), restartControl(t)
	servers := must.Encode(t, urls)
	control.requests = restarts
	ended := make(chan []clientTest, 1)
	go func() {
		ended <- run(t, "K8S_CLI_TEST_SERVERS="+string(servers), "K8S_CLI_TEST_CONTROL="+control.server.URL)
	}()
	for {
		select {
		case url := <-restarts:
			mortal.process.Kill()
			mortal = mortal.again(t)
			url <- mortal.url
		case all := <-ended:
			return all
		}
	}
}

// A control lets the tests of a client kill a server and start the server again. The test's own
// goroutine does so.
type control struct {
	server   *httptest.Server
	requests chan<- chan<- string // each request receives the URL of the new server
}

func restartControl(t *testing.T) *control {
	t.Helper()
	c := &control{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		url := make(chan string, 1)
		select {
		case c.requests <- url:
			_, _ = io.WriteString(w, <-url)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(c.server.Close)
	return c
}

// A clientTest is the result of one test of a client in another language.
type clientTest struct{ name, result string }

var (
	pythonResult = regexp.MustCompile(`(?m)^(test_\w+) \((\S+)\)(?:\n.*)? \.\.\. (.*)$`)
	pythonEnd    = regexp.MustCompile(`(?m)^(OK|FAILED)\b.*$`)
)

// runPython runs the tests of the Python client and returns their results; the result of all
// tests together is the last one.
func runPython(t *testing.T, env ...string) (all []clientTest) {
	ctx, cancel := testkit.WithPatience(t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-m", "unittest", "-v", "-b")
	cmd.Dir, cmd.Env, cmd.WaitDelay = pythonClient, append(testkit.Environment(t.TempDir()), env...), time.Second
	cmd.Env = append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1", "K8S_CLI_INSECURE_HTTP=true")
	out, err := cmd.CombinedOutput()
	for _, m := range pythonResult.FindAllStringSubmatch(string(out), -1) {
		all = append(all, clientTest{m[1], m[3]})
	}
	end := clientTest{"all", "ok"}
	if err != nil || len(all) == 0 || !strings.HasPrefix(pythonEnd.FindString(string(out)), "OK") {
		end.result = string(out)
		if err != nil {
			end.result += err.Error()
		}
	}
	return append(all, end)
}

func reportClient(t *testing.T, all []clientTest) {
	t.Helper()
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			switch {
			case strings.HasPrefix(one.result, "skipped"):
				t.Skip(one.result)
			case one.result != "ok":
				t.Error(one.result)
			}
		})
	}
}

// firstProgram writes the first program of the page about Python, and returns its path.
func firstProgram(t *testing.T) string {
	t.Helper()
	page := must.Read(t, filepath.Join(checkout, "docs", "python.md"))
	_, program, _ := strings.Cut(string(page), "```python\n")
	program, _, _ = strings.Cut(program, "```")
	return file(t, "program.py", program)
}

// TestPythonClientRunsATask runs the first program of the page about Python.
func TestPythonClientRunsATask(t *testing.T) {
	t.Parallel()
	runPythonProgram(t, start(t).as(t, "ann@example.com"), firstProgram(t), `^completed hi\n\n$`)
}

// TestPythonExamples runs the examples of the Python client that need only a server.
func TestPythonExamples(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	for name, want := range map[string]string{
		"sweep.py":    `LR=0\.1 +EPOCHS=3 +completed +loss 0\.3\n`,
		"pipeline.py": `prepare: completed\ntrain: completed\nevaluate: completed\n`,
		"failures.py": `flaky: failed \(Error\), exit code 7\n`,
		"asyncio_.py": `fast: completed\nslow: completed\n`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(filepath.Join(pythonClient, "examples", name))
			must.Succeed(t, err)
			runPythonProgram(t, s.as(t, "user"+strings.TrimSuffix(name, ".py")+"@example.com"), path, want)
		})
	}
}

// runPythonProgram runs a program that uses the Python client as a user, and checks its output.
func runPythonProgram(t *testing.T, u *user, path, want string) {
	t.Helper()
	u.login(t)
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	directory, err := filepath.Abs(pythonClient)
	must.Succeed(t, err)
	cmd := exec.CommandContext(ctx, "python3", path)
	cmd.Dir = u.home
	cmd.Env = append(testkit.Environment(u.home), "K8S_CLI_API_URL="+u.url, "K8S_CLI_INSECURE_HTTP=true",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+directory, "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(want).Match(out) {
		t.Errorf("%v, want %s:\n%s", err, want, out)
	}
}

// TestPythonIsTyped checks the Python client and its examples with mypy, which deploy/python.sh
// installs.
func TestPythonIsTyped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mypy"); err != nil {
		t.Skip("no mypy")
	}
	cmd := exec.CommandContext(t.Context(), "mypy", "--strict", "--python-version", "3.9", "--cache-dir", t.TempDir(),
		"--enable-incomplete-feature", "Unpack",
		"k8s_cli", "generate.py", "wheel.py", "tests/mistakes.py", "examples/sweep.py", "examples/pipeline.py", "examples/failures.py", "examples/asyncio_.py", "examples/notebook.py")
	cmd.Dir = pythonClient
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
