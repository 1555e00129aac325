package features

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The API server of the test cluster notes every request in a file, beside the
// kubeconfig.

// An event is a line of the API server's audit log.
type event struct {
	Stage     string    `json:"stage"`
	Verb      string    `json:"verb"`
	URI       string    `json:"requestURI"`
	UserAgent string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Impersonated struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Annotations map[string]string `json:"annotations"`
}

// audited returns what was noted of requests in the namespace by our servers,
// from a place in the audit log on.
func (c *cluster) audited(t *testing.T, from int64) (events []event) {
	t.Helper()
	for _, e := range c.auditLog(t, from) {
		if strings.HasPrefix(e.UserAgent, "k8s-cli-server") {
			events = append(events, e)
		}
	}
	return events
}

// auditLog returns what was noted of requests in the namespace, by whomever.
func (c *cluster) auditLog(t *testing.T, from int64) (events []event) {
	t.Helper()
	file := openAuditLog(t)
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for _, e := range eventsWith(t, file, c.namespace) {
		if e.Object.Namespace == c.namespace {
			events = append(events, e)
		}
	}
	return events
}

// eventsWith returns what a file has from its place on, as far as it says a word.
func eventsWith(t *testing.T, file io.Reader, word string) (events []event) {
	t.Helper()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if bytes.Contains(lines.Bytes(), []byte(word)) && json.Unmarshal(lines.Bytes(), &e) == nil { // else another's, or being written
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
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

// auditEnd returns the place that the audit log has come to.
func auditEnd(t *testing.T) int64 {
	t.Helper()
	file := openAuditLog(t)
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	return end
}
