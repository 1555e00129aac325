// Package ui runs the tests of the pages, which drive a real browser with Node, and reports
// each of them as a test of its own.
package ui

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/test/testkit"
)

// envPages is set if the browser and the modules of Node are installed; deploy/ui.sh installs
// them.
const envPages = "K8S_CLI_TEST_UI"

// The pages agree with the API, execute no text of users, and are usable with a keyboard, with a
// screen reader and on a small screen.
func TestPages(t *testing.T) {
	testkit.Need(t, envPages, testkit.EnvKubeconfig, testkit.EnvPrograms)
	runScript(t, "types.mjs")
	script := os.Getenv(envPages)
	report(t, runTests(t, script+".test.mjs", "K8S_CLI_TEST_NAMESPACE="+newNamespace(t)))
	switch script {
	case "short":
		report(t, runTests(t, "tabs.test.mjs", "K8S_CLI_TEST_NAMESPACE="+newNamespace(t)))
		nats := testkit.RunNATS(t, t.TempDir(), 0)
		report(t, runTests(t, "login.test.mjs", "K8S_CLI_TEST_SECOND_NAMESPACE="+newNamespace(t), "K8S_CLI_TEST_NATS="+nats.ClientURL()))
	case "full":
		report(t, runTests(t, "longlog.test.mjs", "K8S_CLI_TEST_NAMESPACE="+newNamespace(t)))
	}
}

func newNamespace(t *testing.T) string { return testkit.Join(t, "ui-", nil).Namespace }

func report(t *testing.T, all []result) {
	t.Helper()
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			if !r.ok {
				t.Error(r.output)
			}
		})
	}
}

func runScript(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "node", name).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// A result is the result of one test in JavaScript.
type result struct {
	name   string
	ok     bool
	output string
}

// runTests runs a file of tests with variables of the environment, and returns their results.
func runTests(t *testing.T, file string, environment ...string) []result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	node := exec.CommandContext(ctx, "node", "--test", "--test-reporter=tap", file)
	node.Env = append(os.Environ(), environment...)
	node.Stderr = t.Output()
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	results := readTAP(out)
	if err := node.Wait(); err != nil && len(results) == 0 {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Fatal("no test ran")
	}
	return results
}

var tapLine = regexp.MustCompile(`^(not )?ok \d+ - (.*)$`)

// readTAP reads results in the Test Anything Protocol. The lines after a result explain it.
func readTAP(r io.Reader) (results []result) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := tapLine.FindStringSubmatch(line); m != nil {
			results = append(results, result{name: strings.ReplaceAll(m[2], `\#`, "#"), ok: m[1] == ""})
		} else if n := len(results); n > 0 {
			results[n-1].output += line + "\n"
		}
	}
	return results
}

func TestReadTAP(t *testing.T) {
	got := readTAP(strings.NewReader("TAP version 13\n# Subtest: a\nok 1 - a\n  ---\n  ...\nnot ok 2 - b\n  ---\n  error: 'x'\n1..2\n"))
	if len(got) != 2 || !got[0].ok || got[0].name != "a" || got[1].ok || !strings.Contains(got[1].output, "error: 'x'") {
		t.Errorf("%+v", got)
	}
}
