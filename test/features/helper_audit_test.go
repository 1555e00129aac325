package features

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// The API server of the test cluster writes every request to its audit log, beside the
// kubeconfig.

type event = testkit.AuditEvent

// audited returns the requests of the servers in the namespace, from an offset in the audit
// log.
func (c *cluster) audited(t *testing.T, from int64) (events []event) {
	t.Helper()
	for _, e := range c.auditLog(t, from) {
		if strings.HasPrefix(e.UserAgent, "k8s-cli-server") {
			events = append(events, e)
		}
	}
	return events
}

// auditLog returns the requests of all clients in the namespace, from an offset in the audit
// log.
func (c *cluster) auditLog(t *testing.T, from int64) (events []event) {
	t.Helper()
	file := openAuditLog(t)
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	err := testkit.ReadAudit(file, c.namespace, func(e event) {
		if e.Object.Namespace == c.namespace {
			events = append(events, e)
		}
	})
	must.Succeed(t, err)
	return events
}

func openAuditLog(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Open(filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "log", "audit.log"))
	if err != nil {
		t.Fatalf("the API server's audit log: %v", err)
	}
	return file
}

// auditEnd returns the current size of the audit log.
func auditEnd(t *testing.T) int64 {
	t.Helper()
	file := openAuditLog(t)
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	must.Succeed(t, err)
	return end
}
