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

// An AuditEvent is one line of the API server's audit log. The local cluster writes the
// audit log to the directory log beside its kubeconfig.
type AuditEvent struct {
	Stage     string    `json:"stage"`
	Verb      string    `json:"verb"`
	URI       string    `json:"requestURI"`
	UserAgent string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
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

// ReadAudit reads an audit log from the current position of the reader to its end. ReadAudit
// calls each for every complete line that contains word.
func ReadAudit(log io.Reader, word string, each func(AuditEvent)) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e AuditEvent
		if bytes.Contains(lines.Bytes(), []byte(word)) && json.Unmarshal(lines.Bytes(), &e) == nil { // else the line is of another client, or incomplete
			each(e)
		}
	}
	return lines.Err()
}

// ReadAudits reads all audit logs of a directory: the API server begins a new file when a
// file is large. A directory without audit logs has no events.
func ReadAudits(dir, word string, each func(AuditEvent)) error {
	files, err := filepath.Glob(filepath.Join(dir, "audit*.log"))
	slices.Sort(files)
	for _, name := range files {
		file, failed := os.Open(name)
		if errors.Is(failed, fs.ErrNotExist) {
			continue // the API server deletes the oldest file when it begins a new one
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
