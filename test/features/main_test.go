// Package features holds the feature and end-to-end tests: the real programs, on
// a real Kubernetes with its API server, controllers and kubelet. Each test has
// a namespace and servers of its own and speaks to them as users do, by HTTP, by
// package client or by the CLI.
package features

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the tests need comes from the environment, as make test sets it.
const (
	envKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster that may be written to
	envPrograms   = "K8S_CLI_TEST_BIN"        // directory of k8s-cli and k8s-cli-server
)

// patience is how long a test waits for what has to happen. It is generous:
// pods of many tests share a few processors.
const patience = 2 * time.Minute

// atOnce is how many tests run at once: they mostly wait for the cluster.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", atOnce)
	}
	os.Exit(m.Run())
}

// need skips the test where there is no cluster for it.
func need(t *testing.T) {
	t.Helper()
	if os.Getenv(envKubeconfig) == "" || os.Getenv(envPrograms) == "" {
		t.Skip(envKubeconfig + " and " + envPrograms + " name no cluster and no programs; make test does")
	}
}

// program returns the path of one of our two programs.
func program(t *testing.T, name string) string {
	t.Helper()
	need(t)
	path := filepath.Join(os.Getenv(envPrograms), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", envPrograms, err)
	}
	return path
}

// environment returns what our programs see of the one around the tests, and
// more.
func environment(home string, more ...string) []string {
	// Under the race detector a process takes a second to exit unless told otherwise.
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=atexit_sleep_ms=0"}, more...)
}

// eventually waits until check is satisfied. It is the one place that asks again
// and again: what it asks has no watch. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		state, ok := check()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s: %v; last seen: %s", what, t.Context().Err(), state)
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, patience, state)
		}
	}
}

// wait waits for something that is told by closing a channel.
func wait(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
	case <-t.Context().Done():
		t.Fatalf("%s: %v", what, t.Context().Err())
	case <-limit.C:
		t.Fatalf("%s: not within %s", what, patience)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
