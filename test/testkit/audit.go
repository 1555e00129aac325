package testkit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// An AuditEvent is a line of the API server's audit log, which the local cluster keeps
// in the directory log beside its kubeconfig.
type AuditEvent struct {
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
	Status      struct {
		Code    int `json:"code"`
		Details struct {
			UID string `json:"uid"`
		} `json:"details"`
	} `json:"responseStatus"`
}

// ReadAudit calls each with what an audit log has from its place on, as far as it says
// a word.
func ReadAudit(log io.Reader, word string, each func(AuditEvent)) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e AuditEvent
		if bytes.Contains(lines.Bytes(), []byte(word)) && json.Unmarshal(lines.Bytes(), &e) == nil { // else another's, or being written
			each(e)
		}
	}
	return lines.Err()
}

// ReadAudits reads all files of the audit log in a directory, which goes on in a new
// one when it is large. A cluster without an audit log has none.
func ReadAudits(dir, word string, each func(AuditEvent)) error {
	files, err := filepath.Glob(filepath.Join(dir, "audit*.log"))
	slices.Sort(files)
	for _, name := range files {
		file, failed := os.Open(name)
		if errors.Is(failed, fs.ErrNotExist) {
			continue // the oldest goes when a new one begins
		}
		if failed == nil {
			failed = ReadAudit(file, word, each)
			file.Close()
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return nil
}
