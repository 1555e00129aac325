// Package openapi checks the description of the API with the tools that users have: linters,
// generators of clients, a mock, an editor and a browser. The tools are npm modules, with the
// versions of package-lock.json.
package openapi

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// TestTools runs checks.test.mjs against a server of its own.
func TestTools(t *testing.T) {
	bin, kubeconfig := os.Getenv("K8S_CLI_TEST_BIN"), os.Getenv("K8S_CLI_TEST_KUBECONFIG")
	if bin == "" || kubeconfig == "" {
		t.Skip("K8S_CLI_TEST_BIN and K8S_CLI_TEST_KUBECONFIG name no programs and no cluster")
	}
	if _, err := os.Stat("node_modules"); err != nil {
		t.Skip("the tools are not installed; run deploy/openapi.sh")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	server := exec.CommandContext(t.Context(), filepath.Join(bin, "k8s-cli-server"), "--listen", address, "--nats-listen", "off", "--data-dir", t.TempDir(), "--kubeconfig", kubeconfig)
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	testkit.Eventually(t, time.Minute, "the server to be ready", func() (string, bool) { return ready("http://" + address + "/readyz") })
	node := exec.CommandContext(t.Context(), "node", "--test", "--test-timeout=240000", "checks.test.mjs")
	node.Env = append(os.Environ(), "K8S_CLI_TEST_URL=http://"+address)
	node.Stdout, node.Stderr = t.Output(), t.Output()
	if err := node.Run(); err != nil {
		t.Error(err)
	}
}

func ready(url string) (state string, ok bool) {
	response, err := http.Get(url)
	if err != nil {
		return err.Error(), false
	}
	_ = response.Body.Close()
	return response.Status, response.StatusCode == http.StatusOK
}
