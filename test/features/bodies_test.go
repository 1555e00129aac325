package features

import (
	"net/http"
	"testing"

	"k8s-cli/pkg/task"
)

// A task may be sent as its file. Integers may be strings, and unset fields may be null.
func TestAcceptedRequestBodies(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for name, tt := range map[string]struct{ kind, body string }{
		"the task file":             {"application/yaml", "name: x\nnum_nodes: 2\nvolumes: {/data: nowhere}\nrun: |\n  true\n"},
		"JSON of another type":      {"application/problem+json", `{"name":"x","num_nodes":2,"volumes":{"/data":"nowhere"},"run":"true"}`},
		"JSON with a character set": {"application/json; charset=utf-8", `{"name":"x","num_nodes":"2","volumes":{"/data":"nowhere"},"run":"true"}`},
		"null for what is not set": {"application/json", `{"name":"x","workdir":null,"num_nodes":2,"resources":null,"envs":null,"file_mounts":null,
			"volumes":{"/data":"nowhere"},"setup":null,"run":"true"}`},
		"all documented fields": {"application/json", `{"name":"x","num_nodes":2,"workdir":"/","resources":{"cpus":"2","memory":"4Gi","accelerators":"1",
			"instance_type":"m5","use_spot":true,"disk_size":100,"ports":[8080],"image_id":"python:3.11"},"envs":{"A":"b"},
			"file_mounts":{},"volumes":{"/data":"nowhere"},"setup":"true","run":"true"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ann.post(t, ann.name, "/tasks/submit", tt.body, "Content-Type", tt.kind)
			status := decode[task.Status](t, ann.get(t, ann.name, "/tasks/"+decode[task.Submitted](t, got).ID))
			if status.Name != "x" || status.Metadata.NumNodes != 2 {
				t.Errorf("the task is %q with %d nodes", status.Name, status.Metadata.NumNodes)
			}
		})
	}
}

// A server accepts a request line with an absolute URL, as proxies get.
func TestAbsoluteRequestURLs(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		request string
		code    int
	}{
		{"GET http://test/tasks?limit=1", http.StatusOK},
		{"GET https://test/tasks", http.StatusOK},
		{"GET http://test", http.StatusOK},
		{"GET http://test//tasks", http.StatusNotFound},
		{"POST http://test/tasks//stop", http.StatusNotFound},
		{"GET http://test/tasks/x/../../volumes", http.StatusNotFound},
	} {
		if got := ann.raw(t, tt.request+" HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n"); got.code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.request, got.code, got.body, tt.code)
		}
	}
}
