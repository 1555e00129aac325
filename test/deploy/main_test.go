// Package deploy tests what make deploy has installed: the pods as they are, the
// contract through the Service, and that nothing that was accepted is lost while
// pods come and go under load.
package deploy

import (
	"cmp"
	"os"
	"testing"
	"time"
)

// What the tests need comes from the environment, as make deploy-test sets it.
const (
	envKubeconfig = "K8S_CLI_TEST_DEPLOYED" // of a cluster into which make deploy has installed
	envNamespace  = "K8S_CLI_TEST_DEPLOYED_NAMESPACE"
	envPrograms   = "K8S_CLI_TEST_BIN"  // directory of k8s-cli
	envHelm       = "K8S_CLI_TEST_HELM" // the program
)

const (
	release  = "k8s-cli"
	chartDir = "../../deploy/kubernetes/chart"

	// patience is how long a test waits for what has to happen.
	patience = 3 * time.Minute
)

// need skips the test where nothing is installed.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range append(names, envKubeconfig) {
		if os.Getenv(name) == "" {
			t.Skip(name + " is not set; make deploy-test does")
		}
	}
}

func namespace() string      { return cmp.Or(os.Getenv(envNamespace), "k8s-cli") }
func tasksNamespace() string { return namespace() + "-tasks" }

// eventually waits until check is satisfied. It is the one place that asks again
// and again. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
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
