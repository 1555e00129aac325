// Package deploy tests what make deploy has installed: the pods as they are, the
// contract through the Service, and that nothing that was accepted is lost while
// pods come and go under load.
package deploy

import (
	"cmp"
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// What the tests need comes from the environment, as make deploy-test sets it.
const (
	envKubeconfig = "K8S_CLI_TEST_DEPLOYED" // of a cluster into which make deploy has installed
	envNamespace  = "K8S_CLI_TEST_DEPLOYED_NAMESPACE"
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
	testkit.Need(t, append(names, envKubeconfig)...)
}

func namespace() string      { return cmp.Or(os.Getenv(envNamespace), "k8s-cli") }
func tasksNamespace() string { return namespace() + "-tasks" }

// eventually waits until check is satisfied. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}
