package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// An audit is the API server's audit log, which it writes beside the
// kubeconfig of the local cluster, in several files once it grows.
type audit struct{ dir, namespace string }

func newAudit(dir, namespace string) audit { return audit{dir, namespace} }

type auditLine struct {
	Verb      string    `json:"verb"`
	UserAgent string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code    int `json:"code"`
		Details struct {
			UID string `json:"uid"`
		} `json:"details"`
	} `json:"responseStatus"`
}

// Audit records who created and deleted Jobs and claims of the namespace. A
// cluster without an audit log has nothing to record.
func (c *Cluster) Audit() error {
	files, err := filepath.Glob(filepath.Join(c.audit.dir, "audit*.log"))
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	slices.Sort(files)
	for _, name := range files {
		if err := c.audit.read(name, c.recorder); err != nil {
			return fmt.Errorf("the audit log: %w", err)
		}
	}
	return nil
}

func (a audit) read(name string, recorder *history.Recorder) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the oldest goes when a new one begins
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l auditLine
		if !bytes.Contains(lines.Bytes(), []byte(a.namespace)) || json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // another's, or being written
		}
		o := l.Object
		if o.Namespace != a.namespace || o.Subresource != "" || l.Status.Code > 299 ||
			l.Verb != "create" && l.Verb != "delete" || o.Resource != "jobs" && o.Resource != "persistentvolumeclaims" {
			continue
		}
		recorder.Audit(history.Audit{
			Verb: l.Verb, Resource: o.Resource, Name: o.Name, UID: l.Status.Details.UID, Agent: l.UserAgent, Received: l.Received, At: recorder.Since(l.Received),
		})
	}
	return lines.Err()
}
