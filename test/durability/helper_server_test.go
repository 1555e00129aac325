package durability

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A server is a k8s-cli-server with an embedded log.
type server struct {
	*testkit.Process
	url string
}

// start runs a server on a data directory and returns when the server is ready. The
// namespace need not exist: no task of these tests gets a Job.
func start(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	flags = append([]string{
		"--listen", "127.0.0.1:0", "--namespace", "durability", "--kubeconfig", os.Getenv(testkit.EnvKubeconfig),
		"--nats-listen", "off", "--data-dir", dir,
	}, flags...)
	s := &server{Process: testkit.Command{Program: testkit.Program(t, "k8s-cli-server"), Args: flags}.Run(t)}
	address, err := s.Address(t.Context(), patience)
	must.Succeed(t, err)
	s.url = "http://" + address
	return s
}

// ask sends one request. An error means that the effect of the request is unknown.
func (s *server) ask(method, path, key, body string) (testkit.Answer, error) {
	r := testkit.Request{Method: method, URL: s.url + path, Header: []string{"X-User", "ann@example.com"}}
	if key != "" {
		r.Header = append(r.Header, "Idempotency-Key", key)
	}
	if body != "" {
		r.Body = []byte(body)
	}
	return testkit.Send(context.Background(), web, r)
}

func (s *server) readyz(t *testing.T) string {
	t.Helper()
	got, err := s.ask(http.MethodGet, "/readyz", "", "")
	must.Succeed(t, err)
	return got.String()
}

// tasks returns the ids of all tasks by name.
func (s *server) tasks(t *testing.T) map[string][]string {
	t.Helper()
	var got testkit.Answer
	eventually(t, "a list of the tasks", func() (string, bool) { // a slow server answers 503
		var err error
		got, err = s.ask(http.MethodGet, "/tasks", "", "")
		return fmt.Sprint(got, err), err == nil && got.Code == http.StatusOK
	})
	var list task.List
	must.Succeed(t, json.Unmarshal(got.Body, &list))
	ids := map[string][]string{}
	for _, one := range list.Tasks {
		ids[one.Name] = append(ids[one.Name], one.ID)
	}
	return ids
}
