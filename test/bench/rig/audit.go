package rig

import (
	"net/http"
	"path/filepath"
	"strings"

	"k8s-cli/test/testkit"
)

// serverAgent is the user agent of the server.
const serverAgent = "k8s-cli-server"

// made is the request that creates a Job: there is exactly one for each node of a task,
// unless it is repeated.
const made = "create jobs"

// Requests returns which requests servers sent to the API server in a namespace, as far as
// the audit log reaches back: the number of requests by kind, and the number of Jobs created
// in that time.
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
