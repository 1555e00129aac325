package features

import (
	"net"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A gate makes pods wait for the test: `wget -qO- $url` ends when the test opens the gate.
// The gate counts visits.
type gate struct {
	url string

	mu      sync.Mutex
	open    chan struct{}
	visits  map[string]int // by path
	visited chan struct{}  // closed at the next visit
}

// newGate returns a closed gate on the address of the cluster's node, which is this machine.
func newGate(t *testing.T, c *cluster) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(c.nodeAddress(t), "0"))
	if err != nil {
		t.Fatalf("listen where pods can reach it: %v", err)
	}
	g := &gate{
		url:     "http://" + listener.Addr().String(),
		open:    make(chan struct{}),
		visits:  map[string]int{},
		visited: make(chan struct{}),
	}
	server := &http.Server{Handler: g}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return g
}

func (c *cluster) nodeAddress(t *testing.T) string {
	t.Helper()
	nodes, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list nodes: %v", err)
	}
	for _, node := range nodes.Items {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	t.Fatal("no node of the cluster has an address")
	return ""
}

// ServeHTTP counts a visit and answers once the gate is open.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.visits[r.URL.Path]++
	close(g.visited)
	g.visited = make(chan struct{})
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	case <-r.Context().Done():
	}
}

// opens answers all waiting and all later visits.
func (g *gate) opens() { close(g.open) }

// count returns how often a path was visited.
func (g *gate) count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.visits[path]
}

// await waits until a path was visited n times.
func (g *gate) await(t *testing.T, path string, n int) {
	t.Helper()
	for {
		g.mu.Lock()
		got, visited := g.visits[path], g.visited
		g.mu.Unlock()
		if got >= n {
			return
		}
		wait(t, visited, "a pod at the gate "+path)
	}
}
