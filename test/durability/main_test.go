// Package durability holds the tests of what a disk may do to a server with the
// log inside the process: lose its power, be filled by others, fail. They run
// the real program on disks of their own, on loop devices, which takes root and
// an API server; without those they are skipped and say what is missing.
package durability

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What the tests need comes from the environment, as make test sets it.
const (
	envKubeconfig = "K8S_CLI_TEST_KUBECONFIG" // of a cluster; nothing is created in it
	envPrograms   = "K8S_CLI_TEST_BIN"        // directory of k8s-cli-server
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

// program returns the path of the server.
func program(t *testing.T) string {
	t.Helper()
	if os.Getenv(envKubeconfig) == "" || os.Getenv(envPrograms) == "" {
		t.Skip(envKubeconfig + " and " + envPrograms + " name no cluster and no programs; make test does")
	}
	path := filepath.Join(os.Getenv(envPrograms), "k8s-cli-server")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", envPrograms, err)
	}
	return path
}

// eventually waits until check is satisfied. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	const pause = 50 * time.Millisecond // what is asked has no watch
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
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, patience, state)
		}
	}
}

// web asks the servers; its limit is above theirs.
var web = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
