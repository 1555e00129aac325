package rig

import (
	"net/http"
	"path/filepath"
	"strings"

	"k8s-cli/test/testkit"
)

// Server's user agent.
const serverAgent = "k8s-cli-server"

// made is the request that every node of a task has exactly one of, unless it is
// repeated.
const made = "create jobs"

// Requests returns what servers asked of the API server in a namespace, as far
// as its audit log still says: how many requests of each kind there were, and how
// many Jobs were created in the same time.
func (p *Place) Requests(namespace string) (kinds map[string]int, jobs int, err error) {
	kinds = map[string]int{}
	err = testkit.ReadAudits(filepath.Join(p.Dir, "log"), namespace, func(e testkit.AuditEvent) {
		if e.Object.Namespace != namespace || !strings.HasPrefix(e.UserAgent, serverAgent) {
			return
		}
		kind := e.Verb + " " + e.Object.Resource
		if e.Object.Subresource != "" {
			kind += "/" + e.Object.Subresource
		}
		if kind == made && e.Status.Code == http.StatusCreated {
			jobs++
		}
		kinds[kind]++
	})
	return kinds, jobs, err
}
