// Package deploy tests the result of make deploy: the pods as installed, the contract
// through the Service, and that nothing accepted is lost while pods come and go under load.
package deploy

import (
	"cmp"
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// The tests read their settings from environment variables, which make deploy-test sets.
const (
	envKubeconfig = "K8S_CLI_TEST_DEPLOYED" // kubeconfig of a cluster into which make deploy installed the release
	envNamespace  = "K8S_CLI_TEST_DEPLOYED_NAMESPACE"
	envHelm       = "K8S_CLI_TEST_HELM" // path of helm
)

const (
	release  = "k8s-cli"
	chartDir = "../../deploy/kubernetes/chart"

	// patience is how long a test waits for an expected state.
	patience = 3 * time.Minute
)

// need skips the test if one of the environment variables is not set.
func need(t *testing.T, names ...string) {
	t.Helper()
	testkit.Need(t, append(names, envKubeconfig)...)
}

func namespace() string      { return cmp.Or(os.Getenv(envNamespace), "k8s-cli") }
func tasksNamespace() string { return namespace() + "-tasks" }

// eventually waits until check is satisfied. The state appears in the error.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}
