// Package crash has servers die, or fall asleep, at every point of package
// pkg/crash: in the middle of a story that has all commands and facts in it.
// Whoever comes next, the same server started again or another one, has to bring
// the story to the end that it would have had.
package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the tests need comes from the environment, as make test sets it.
const (
	envKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster that may be written to
	envPrograms   = "K8S_CLI_TEST_BIN"        // directory of the programs; crashpoints/ in it has a server built with that tag
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

// atOnce is how many stories are told at once: they mostly wait.
const atOnce = "16"

var exhaustive = flag.Bool("exhaustive", false, "pause and take over at as many passings as kill and restart: takes minutes")

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", atOnce)
	}
	code := m.Run()
	house.close()
	os.Exit(code)
}

// need skips the test where there is no cluster for it.
func need(t *testing.T) {
	t.Helper()
	if os.Getenv(envKubeconfig) == "" || os.Getenv(envPrograms) == "" {
		t.Skip(envKubeconfig + " and " + envPrograms + " name no cluster and no programs; make test does")
	}
}

// program returns the path of a server that passes crash points.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.Getenv(envPrograms), "crashpoints", "k8s-cli-server")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v; go build -race -tags crashpoints makes it", envPrograms, err)
	}
	return path
}

// eventually waits until check is satisfied. It is the one place that asks again
// and again. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	const pause = 25 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	deadline, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		state, ok := check()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.Done():
			t.Fatalf("%s: %v; last seen: %s", what, deadline.Err(), state)
		}
	}
}

// wait waits for something that is told by closing one of two channels.
func wait(t *testing.T, what string, one, other <-chan struct{}) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-one:
	case <-other:
	case <-limit.C:
		t.Fatalf("%s: not within %s", what, patience)
	}
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }
