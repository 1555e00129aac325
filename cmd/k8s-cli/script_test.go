package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Under the race detector a process takes a second to exit unless told otherwise.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	testscript.Main(m, map[string]func(){"k8s-cli": main, "xdg-open": fakeBrowser})
}

// TestScripts runs terminal sessions, each against a server of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			server := httptest.NewServer(newFakeServer())
			e.Defer(server.Close)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("K8S_CLI_API_URL", server.URL)
			e.Setenv("NOT_LOOPBACK", strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// fakeBrowser opens a page; the fake issuer logs in the user that opens it.
func fakeBrowser() {
	answer, err := http.Get(os.Args[1])
	if err != nil || answer.StatusCode != http.StatusOK {
		os.Exit(1)
	}
	_ = answer.Body.Close()
}

// exits runs a command that has to end with an exit code: exits CODE COMMAND...
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
