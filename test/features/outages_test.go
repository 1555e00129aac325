package features

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// While NATS is unreachable, the server accepts no command and loses nothing. Reads continue
// and are marked as stale.
func TestReadsDuringNATSOutage(t *testing.T) {
	t.Parallel()
	need(t)
	dir := t.TempDir()
	nats := testkit.RunNATS(t, dir, 0)
	port := nats.Addr().(*net.TCPAddr).Port
	s := start(t, "--nats-url", nats.ClientURL())
	ann := s.as(t, "ann")
	id := ann.submit(t, idle)
	nats.Shutdown()
	nats.WaitForShutdown()

	begin := time.Now()
	for _, path := range []string{"/tasks/" + id, "/tasks"} {
		got := s.get(t, "ann", path)
		if got.code != http.StatusOK || !strings.Contains(string(got.body), id) || !strings.HasPrefix(got.header.Get("X-Stale"), "log; age=") {
			t.Errorf("%s answers %d with X-Stale %q: %.200s", path, got.code, got.header.Get("X-Stale"), got.body)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("two reads took %s", took)
	}
	for _, path := range []string{"/tasks/submit", "/tasks/" + id + "/stop", "/tasks/stop"} {
		begin := time.Now()
		got := s.post(t, "ann", path, `{"run":"true","volumes":{"/data":"nowhere"}}`)
		if got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.detail(t) == "" {
			t.Errorf("%s answers %d with Retry-After %q: %s", path, got.code, got.header.Get("Retry-After"), got.body)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s took %s", path, took)
		}
	}
	if got := s.get(t, "", "/readyz"); got.code != http.StatusOK || !strings.Contains(string(got.body), "NATS") {
		t.Errorf("/readyz answers %d %s, want it to name NATS", got.code, got.body)
	}

	testkit.RunNATS(t, dir, port)
	eventually(t, "the server has NATS again", func() (string, bool) {
		got := s.get(t, "ann", "/tasks/"+id)
		return got.header.Get("X-Stale"), got.header.Get("X-Stale") == ""
	})
	if got := ann.task(t, id); got.Phase.Over() && got.Phase != task.Stopped {
		t.Errorf("the task is %s", sketch(got))
	}
	ann.run(t, "run: echo back")
}

// While the API server is unreachable, the server accepts commands, which wait. Reads
// continue and are marked as stale.
func TestAPIServerOutage(t *testing.T) {
	t.Parallel()
	c := join(t)
	way := linkToAPI(t)
	s := c.serve(t, "--kubeconfig", way.kubeconfig(t))
	ann := s.as(t, "ann")
	runs := ann.submit(t, yaml("run", endless))
	ann.await(t, runs, task.Running)

	way.Close()
	eventually(t, "reads say that they may be old", func() (string, bool) {
		got := s.get(t, "ann", "/tasks")
		return got.header.Get("X-Stale"), strings.HasPrefix(got.header.Get("X-Stale"), "cluster; age=")
	})
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	mounts := ann.submit(t, "volumes: {/data: data}\nrun: true")
	if _, err := ann.DeleteVolume(t.Context(), volume); !errors.Is(err, problem.Conflict) || !strings.Contains(err.Error(), mounts) {
		t.Errorf("deletion of a volume that a task will mount: %v; want a conflict that names %s", err, mounts)
	}
	later := ann.submit(t, "run: echo later")
	ann.wantPhase(t, later, task.Pending, "while the API server is away")
	ann.stop(t, runs)
	ann.wantPhase(t, runs, task.Stopped, "while the API server is away")
	if got := s.get(t, "", "/readyz"); got.code != http.StatusOK || !strings.Contains(string(got.body), "API server") {
		t.Errorf("/readyz answers %d %s, want it to name the API server", got.code, got.body)
	}
	ann.awaitExplained(t, later, task.Pending, explanation{"APIServerUnavailable", "^create job ", "^Wait: the server retries"})

	way.heal(t)
	ann.await(t, later, task.Completed)
	ann.await(t, mounts, task.Completed)
	ann.awaitNothing(t, runs)
}

// A server that cannot reach what it needs at startup is alive, and its readiness says what
// it waits for.
func TestStartupWithoutAPIServer(t *testing.T) {
	t.Parallel()
	c := join(t)
	way := linkToAPI(t)
	way.Close()
	address := testkit.ClosedPort(t)
	s := &server{cluster: c, url: "http://" + address, flags: []string{"--listen", address, "--kubeconfig", way.kubeconfig(t), "--start-timeout", "1m"}}
	s.launch(t)
	s.awaitAnswer(t)
	eventually(t, "it says what it waits for", func() (string, bool) {
		got := s.get(t, "", "/readyz")
		return string(got.body), got.code == http.StatusServiceUnavailable && got.header.Get("Retry-After") != "" &&
			strings.Contains(string(got.body), `"detail":"starting: waiting for the Kubernetes API server at https://`+way.Address())
	})
	for path, code := range map[string]int{"/": 200, "/healthz": 200, "/auth": 200, "/openapi.json": 200, "/nowhere": 404, "/tasks": 503, "/volumes": 503, "/whoami": 503} {
		if got := s.get(t, "ann", path); got.code != code {
			t.Errorf("GET %s: %d %s, want %d", path, got.code, got.body, code)
		}
	}
	if got := s.post(t, "ann", "/tasks/submit", `{"run":"true"}`); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("a submission: %d %s", got.code, got.body)
	}
	way.heal(t)
	s.process.address(t) // once the server is ready
	ann := s.as(t, "ann")
	ann.await(t, ann.submit(t, "run: true"), task.Completed)
}

// awaitAnswer waits until the server answers with any status.
func (s *server) awaitAnswer(t *testing.T) {
	t.Helper()
	eventually(t, "somebody answers at "+s.url, func() (string, bool) {
		response, err := http.Get(s.url + "/healthz")
		if err != nil {
			return err.Error(), false
		}
		_ = response.Body.Close()
		return response.Status, response.StatusCode == http.StatusOK
	})
}

// An apiLink is a link to the API server.
type apiLink struct{ *testkit.Link }

func linkToAPI(t *testing.T) apiLink {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	must.Succeed(t, err)
	return apiLink{linkTo(t, strings.TrimPrefix(config.Host, "https://"))}
}

func linkTo(t *testing.T, address string) *testkit.Link {
	t.Helper()
	l, err := testkit.NewLink("127.0.0.1:0", address)
	must.Succeed(t, err)
	t.Cleanup(l.Close)
	return l
}

// kubeconfig returns a kubeconfig that leads over the link.
func (l apiLink) kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	changeKubeconfig(t, path, func(c *clientcmdapi.Config) {
		for _, cluster := range c.Clusters {
			cluster.Server = "https://" + l.Address()
		}
	})
	return path
}

// heal restores a link that was closed.
func (l apiLink) heal(t *testing.T) {
	t.Helper()
	must.Succeed(t, l.Heal())
}
