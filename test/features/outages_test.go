package features

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"k8s.io/client-go/tools/clientcmd"

	"k8s-cli/pkg/task"
)

// While NATS is away nothing is accepted and nothing is forgotten; reads go on
// and say that they may be old.
func TestReadsGoOnWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	need(t)
	dir := t.TempDir()
	nats := runNATS(t, dir, natsserver.RANDOM_PORT)
	s := start(t, "--nats-url", nats.ClientURL())
	ann := s.as(t, "ann")
	id := ann.submit(t, idle)
	_, port, err := net.SplitHostPort(nats.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
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

	runNATS(t, dir, number)
	eventually(t, "the server has NATS again", func() (string, bool) {
		got := s.get(t, "ann", "/tasks/"+id)
		return got.header.Get("X-Stale"), got.header.Get("X-Stale") == ""
	})
	if got := ann.task(t, id); got.Phase.Over() && got.Phase != task.Stopped {
		t.Errorf("the task is %s", sketch(got))
	}
	ann.run(t, "run: echo back")
}

// While the API server is away commands are accepted and wait; reads go on and
// say that they may be old.
func TestTasksWaitWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	c := join(t)
	way := newBridge(t)
	s := &server{cluster: c}
	s.process = launch(t, "--listen", "127.0.0.1:0", "--namespace", c.namespace, "--kubeconfig", way.kubeconfig(t),
		"--nats-listen", "off", "--data-dir", t.TempDir())
	s.url = "http://" + s.process.address(t)
	ann := s.as(t, "ann")
	runs := ann.submit(t, yaml("run", endless))
	ann.await(t, runs, task.Running)

	way.lift()
	eventually(t, "reads say that they may be old", func() (string, bool) {
		got := s.get(t, "ann", "/tasks")
		return got.header.Get("X-Stale"), strings.HasPrefix(got.header.Get("X-Stale"), "cluster; age=")
	})
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	mounts := ann.submit(t, "volumes: {/data: data}\nrun: true")
	if _, err := ann.DeleteVolume(t.Context(), volume); !errors.Is(err, task.ErrConflict) || !strings.Contains(err.Error(), mounts) {
		t.Errorf("deletion of a volume that a task will mount: %v; want a conflict that names %s", err, mounts)
	}
	later := ann.submit(t, "run: echo later")
	if got := ann.task(t, later); got.Phase != task.Pending {
		t.Errorf("while the API server is away the task is %s", sketch(got))
	}
	ann.stop(t, runs)
	if got := ann.task(t, runs); got.Phase != task.Stopped {
		t.Errorf("while the API server is away the stopped task is %s", sketch(got))
	}
	if got := s.get(t, "", "/readyz"); got.code != http.StatusOK || !strings.Contains(string(got.body), "API server") {
		t.Errorf("/readyz answers %d %s, want it to name the API server", got.code, got.body)
	}
	ann.awaitExplained(t, later, task.Pending, explanation{"APIServerUnavailable", "^create job ", "^Wait: the server retries"})

	way.lower(t)
	ann.await(t, later, task.Completed)
	ann.await(t, mounts, task.Completed)
	ann.awaitNothing(t, runs)
}

// A server that does not have yet what it needs is alive, and says what it waits
// for.
func TestAServerThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	c := join(t)
	way := newBridge(t)
	way.lift()
	s := &server{cluster: c}
	address := closedPort(t)
	s.process = launch(t, "--listen", address, "--namespace", c.namespace, "--kubeconfig", way.kubeconfig(t),
		"--nats-listen", "off", "--data-dir", t.TempDir(), "--start-timeout", "1m")
	s.url = "http://" + address
	s.awaitAnswer(t)
	eventually(t, "it says what it waits for", func() (string, bool) {
		got := s.get(t, "", "/readyz")
		return string(got.body), got.code == http.StatusServiceUnavailable && got.header.Get("Retry-After") != "" &&
			strings.Contains(string(got.body), `"detail":"starting: waiting for the Kubernetes API server at https://`+way.address)
	})
	for path, code := range map[string]int{"/": 200, "/healthz": 200, "/auth": 200, "/openapi.json": 200, "/nowhere": 404, "/tasks": 503, "/volumes": 503, "/whoami": 503} {
		if got := s.get(t, "ann", path); got.code != code {
			t.Errorf("GET %s: %d %s, want %d", path, got.code, got.body, code)
		}
	}
	if got := s.post(t, "ann", "/tasks/submit", `{"run":"true"}`); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("a submission: %d %s", got.code, got.body)
	}
	way.lower(t)
	s.process.address(t) // once it is ready
	ann := s.as(t, "ann")
	ann.await(t, ann.submit(t, "run: true"), task.Completed)
}

// awaitAnswer waits until anybody answers at all.
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

// A bridge is the way to the API server. It can be lifted.
type bridge struct {
	address string // where it begins
	beyond  string // where it leads

	mu       sync.Mutex
	listener net.Listener
	crossing map[net.Conn]bool
}

func newBridge(t *testing.T) *bridge {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{address: "127.0.0.1:0", beyond: strings.TrimPrefix(config.Host, "https://"), crossing: map[net.Conn]bool{}}
	b.lower(t)
	t.Cleanup(b.lift)
	return b
}

// kubeconfig returns a file that leads over the bridge.
func (b *bridge) kubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(os.Getenv(envKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + b.address
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (b *bridge) lower(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.listener, b.address = listener, listener.Addr().String()
	b.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.carry(conn)
		}
	}()
}

// lift ends all connections and takes no new ones.
func (b *bridge) lift() {
	b.mu.Lock()
	_ = b.listener.Close()
	b.mu.Unlock()
	b.breaks()
}

// breaks ends all connections.
func (b *bridge) breaks() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.crossing {
		_ = conn.Close()
	}
}

func (b *bridge) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", b.beyond)
	if err != nil {
		return
	}
	defer far.Close()
	b.mu.Lock()
	b.crossing[near], b.crossing[far] = true, true
	b.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
	both.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
	both.Wait()
	b.mu.Lock()
	delete(b.crossing, near)
	delete(b.crossing, far)
	b.mu.Unlock()
}
