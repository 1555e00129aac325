package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Server's user agent.
const serverAgent = "k8s-cli-server"

// made is the request that every node of a task has exactly one of, unless it is
// repeated.
const made = "create jobs"

type auditLine struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Requests returns what servers asked of the API server in a namespace, as far
// as its audit log still says: how many requests of each kind there were, and how
// many Jobs were created in the same time.
func (p *Place) Requests(namespace string) (kinds map[string]int, jobs int, err error) {
	files, err := filepath.Glob(filepath.Join(p.Dir, "log", "audit*.log"))
	if err != nil {
		return nil, 0, fmt.Errorf("the audit log: %w", err)
	}
	kinds = map[string]int{}
	for _, name := range files {
		n, err := countRequests(name, namespace, kinds)
		if err != nil {
			return nil, 0, fmt.Errorf("the audit log: %w", err)
		}
		jobs += n
	}
	return kinds, jobs, nil
}

func countRequests(name, namespace string, kinds map[string]int) (jobs int, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the oldest goes when a new one begins
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l auditLine
		if !bytes.Contains(lines.Bytes(), []byte(namespace)) || json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // another's, or being written
		}
		if l.Object.Namespace != namespace || !strings.HasPrefix(l.UserAgent, serverAgent) {
			continue
		}
		kind := l.Verb + " " + l.Object.Resource
		if l.Object.Subresource != "" {
			kind += "/" + l.Object.Subresource
		}
		if kind == made && l.Status.Code == http.StatusCreated {
			jobs++
		}
		kinds[kind]++
	}
	return jobs, lines.Err()
}
