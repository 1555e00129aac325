package features

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// typeScriptClient is the directory of the TypeScript client.
const typeScriptClient = "../../clients/typescript"

// minNode is the oldest major version of Node that runs the client.
const minNode = 20

func needNode(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	if err != nil {
		t.Skip("no node")
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		t.Skipf("node %s is older than %d", out, minNode)
	}
}

// node returns a command in the directory of the client.
func node(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), 3*patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = typeScriptClient, append(testkit.Environment(t.TempDir()), env...), time.Second
	return cmd
}

// TestTypeScriptClient runs the tests of the TypeScript client, and reports each of them as a test
// of its own. The tests include the stories, which use these servers.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	needNode(t)
	main, mortal := startForFiles(t), start(t)
	reportClient(t, tellStories(t, map[string]string{"main": main.url, "mortal": mortal.url}, mortal, runNodeTests))
}

var nodeResult = regexp.MustCompile(`^(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$`)

// runNodeTests runs the tests of the client and returns their results. The result of all tests
// together is the last one.
func runNodeTests(t *testing.T, env ...string) (all []clientTest) {
	cmd := node(t, env, "--test", "--test-reporter=tap", "test/unit.test.mjs", "test/stories.test.mjs")
	out, err := cmd.CombinedOutput()
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	lines.Buffer(nil, 1<<20)
	failed := false
	for lines.Scan() {
		m := nodeResult.FindStringSubmatch(lines.Text())
		switch {
		case m != nil && m[3] != "":
			all = append(all, clientTest{m[2], "skipped " + m[3]})
		case m != nil:
			all, failed = append(all, clientTest{m[2], "ok"}), m[1] != ""
			if failed {
				all[len(all)-1].result = ""
			}
		case failed:
			all[len(all)-1].result += lines.Text() + "\n"
		}
	}
	end := clientTest{"all", "ok"}
	if err != nil || len(all) == 0 {
		end.result = string(out)
	}
	return append(all, end)
}

// TestTypeScriptIsTyped checks the client with tsc, and checks that the types of the API and of
// the client are up to date. deploy/ui.sh installs the tools.
func TestTypeScriptIsTyped(t *testing.T) {
	t.Parallel()
	needNode(t)
	if _, err := os.Stat("../ui/node_modules/.bin/tsc"); err != nil {
		t.Skip("no tsc")
	}
	if out, err := node(t, nil, "generate.mjs", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTypeScriptExamples runs the examples of the TypeScript client.
func TestTypeScriptExamples(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := start(t)
	env := []string{"K8S_CLI_API_URL=" + s.url, "K8S_CLI_USER=ann@example.com", "PORT=0"}
	for name, want := range map[string]string{
		"sweep.mjs": `0\.1 +│ 3 +│ 'completed' +│ 'loss 0\.3'`,
		"logs.mjs":  `^line 1\nline 2\nline 3\n\w{8} is completed\n$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := node(t, env, filepath.Join("examples", name)).CombinedOutput()
			if err != nil || !regexp.MustCompile(want).Match(out) {
				t.Errorf("%v, want %s:\n%s", err, want, out)
			}
		})
	}
	t.Run("page.mjs", func(t *testing.T) {
		t.Parallel()
		s.as(t, "ann@example.com").submit(t, `{"name": "waits", "run": "true", "resources": {"cpus": 100000}}`)
		cmd := node(t, env, "examples/page.mjs")
		out, err := cmd.StdoutPipe()
		must.Succeed(t, err)
		must.Succeed(t, cmd.Start())
		url, err := bufio.NewReader(out).ReadString('\n')
		must.Succeed(t, err)
		if page := bodyOf(t, strings.TrimSpace(url)); !strings.Contains(page, "<td>waits</td><td>pending</td>") {
			t.Errorf("the page has no row of the task:\n%s", page)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// bodyOf returns the body of a page.
func bodyOf(t *testing.T, url string) string {
	t.Helper()
	page, err := testkit.Send(t.Context(), http.DefaultClient, testkit.Request{Method: http.MethodGet, URL: url})
	must.Succeed(t, err)
	return string(page.Body)
}

var jsBlock = regexp.MustCompile("(?s)```js\n(.*?)```")

// TestTypeScriptPage runs the first program of the page about TypeScript, and checks the syntax of
// the other ones.
func TestTypeScriptPage(t *testing.T) {
	t.Parallel()
	needNode(t)
	page := must.Read(t, filepath.Join(checkout, "docs", "typescript.md"))
	index, err := filepath.Abs(filepath.Join(typeScriptClient, "index.js"))
	must.Succeed(t, err)
	s := start(t)
	blocks := jsBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for i, block := range blocks {
		text := strings.NewReplacer(`"k8s-cli-client"`, strconv.Quote(index), "http://localhost:8000", s.url).Replace(block[1])
		path, args := file(t, "block.mjs", text), []string{"--check"}
		if i == 0 {
			args = nil
		}
		out, err := node(t, nil, append(args, path)...).CombinedOutput()
		if err != nil || (i == 0 && string(out) != "hi\ncompleted\n") {
			t.Errorf("block %d: %v\n%s\n%s", i, err, out, text)
		}
	}
}
