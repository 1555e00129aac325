// Package openapi checks the description of the API with the tools that users have: linters,
// generators of clients, a mock, an editor and a browser. The tools are npm modules, with the
// versions of package-lock.json.
package openapi

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// TestTools runs checks.test.mjs against a server of its own.
func TestTools(t *testing.T) {
	program := testkit.Program(t, "k8s-cli-server")
	if _, err := os.Stat("node_modules"); err != nil {
		t.Skip("the tools are not installed; run deploy/openapi.sh")
	}
	flags := []string{"--listen", "127.0.0.1:0", "--nats-listen", "off", "--data-dir", t.TempDir(), "--kubeconfig", os.Getenv(testkit.EnvKubeconfig), "--namespace", testkit.Join(t, "openapi-", nil).Namespace}
	server := testkit.Command{Program: program, Args: flags, Home: t.TempDir()}.Run(t)
	address, err := server.Address(t.Context(), 3*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "--test", "checks.test.mjs")
	node.Env = append(os.Environ(), "K8S_CLI_TEST_URL=http://"+address)
	node.Stdout, node.Stderr = t.Output(), t.Output()
	if err := node.Run(); err != nil {
		t.Error(err)
	}
}
