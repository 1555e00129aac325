// Package features holds the feature and end-to-end tests: the real programs, on
// a real Kubernetes with its API server, controllers and kubelet. Each test has
// a namespace and servers of its own and speaks to them as users do, by HTTP, by
// package client or by the CLI.
package features

import (
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

const envKubeconfig = testkit.EnvKubeconfig

// patience is how long a test waits for what has to happen. It is generous:
// pods of many tests share a few processors.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	testkit.Parallel("6") // they mostly wait for the cluster
	os.Exit(m.Run())
}

// need skips the test where there is no cluster for it.
func need(t *testing.T) {
	t.Helper()
	testkit.Need(t, testkit.EnvKubeconfig, testkit.EnvPrograms)
}

// eventually waits until check is satisfied. It is for what has no watch. The state
// says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

// wait waits for something that is told by closing a channel.
func wait(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	testkit.Wait(t, patience, what, done)
}
