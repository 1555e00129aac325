// Package features contains the feature and end-to-end tests. The tests run the real
// programs on a real Kubernetes with API server, controllers and kubelet. A test that
// needs flags, a restart or a whole namespace has a namespace and servers of its own; the other
// tests share one server, each with a user of its own. The tests use the servers as users do: by
// HTTP, by package client or by the CLI.
package features

import (
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

const envKubeconfig = testkit.EnvKubeconfig

// patience is how long a test waits for an expected state. patience is long because the pods
// of many tests share a few processors.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	testkit.Parallel("6") // these tests mostly wait for the cluster
	code := m.Run()
	if !shared.end() {
		code = 1
	}
	os.Exit(code)
}

// need skips the test if there is no cluster.
func need(t *testing.T) {
	t.Helper()
	testkit.Need(t, testkit.EnvKubeconfig, testkit.EnvPrograms)
}

// eventually waits until check is satisfied. eventually is for conditions without a
// notification. The state appears in the error.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

// wait waits until a channel is closed.
func wait(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	testkit.Wait(t, patience, what, done)
}
