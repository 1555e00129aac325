package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Without this setting, every process under the race detector sleeps for a second
	// before it exits.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	testscript.Main(m, map[string]func(){"k8s-cli": main, "xdg-open": fakeBrowser})
}

// TestScripts runs each script against a server of its own. With -short, the scripts run the program
// without the race detector, with which each of their 500 processes takes three times as long.
func TestScripts(t *testing.T) {
	var first []string // directories of PATH
	if testing.Short() {
		first = append(first, buildPlain(t))
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			fake := newFakeServer("http://elsewhere.example")
			e.Defer(fake.issuer.Close)
			server := httptest.NewServer(fake)
			e.Defer(server.Close)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", strings.Join(append(first, e.Getenv("PATH")), string(os.PathListSeparator)))
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("K8S_CLI_API_URL", server.URL)
			e.Setenv("ISSUER", fake.issuer.URL+"/both")
			e.Setenv("NOT_LOOPBACK", strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "table": table},
	})
}

// buildPlain builds the program with the flags of `make build`, whose packages are in the cache of
// Go, and returns its directory.
func buildPlain(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", dir+"/", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

// fakeBrowser requests a page. The fake issuer logs in the user who opens the page.
func fakeBrowser() {
	answer, err := http.Get(os.Args[1])
	if err != nil || answer.StatusCode != http.StatusOK {
		os.Exit(1)
	}
	_ = answer.Body.Close()
}

// exits is a script command that requires an exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = failed.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

var (
	ages = regexp.MustCompile(`\b(\d+y)?\d+d\b`)
	gaps = regexp.MustCompile(` {2,}`)
)

// table is a script command that compares the standard output with a file: table FILE. It
// replaces ages by AGE, and ignores the widths of columns, because both change every day.
func table(ts *testscript.TestScript, _ bool, args []string) {
	plain := func(file string) string {
		return gaps.ReplaceAllString(ages.ReplaceAllString(ts.ReadFile(file), "AGE"), "  ")
	}
	if got, want := plain("stdout"), plain(args[0]); got != want {
		ts.Fatalf("stdout is\n%s\nwant\n%s", got, want)
	}
}
