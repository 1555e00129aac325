// Package rig runs the system that the bench measures: the real server on a cluster whose
// API server can be paused, with a population that the rig writes directly to the log and to
// etcd.
package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/testkit"
)

// A Place is a cluster of deploy/local and a directory for the data of the bench.
type Place struct {
	kubernetes.Interface
	Kubeconfig string
	Dir        string // directory of the cluster
	Nodes      string // kind of the cluster's nodes
	Work       string // for the data of the bench, on the disk that is measured

	store *store

	mu     sync.Mutex
	paused int // process id of the API server while it is paused, else 0
}

// layout is the description of a cluster of deploy/local in its cluster.json.
type layout struct {
	Layout struct {
		Nodes    string `json:"nodes"`
		Instance int    `json:"instance"`
	} `json:"layout"`
}

// The ports of deploy/local: each instance has a range; the second port of the range is
// etcd's.
const (
	firstPort        = 17600
	portsPerInstance = 20
	etcdPort         = 1
)

// Join returns the cluster whose state is in dir. Join creates the directory work if
// necessary.
func Join(dir, work string) (*Place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w; make bench starts one", err)
	}
	var l layout
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	p := &Place{Kubeconfig: filepath.Join(dir, "kubeconfig"), Dir: dir, Nodes: l.Layout.Nodes, Work: work}
	if p.Interface, err = testkit.Connect(p.Kubeconfig, baseline.Agent); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, fmt.Errorf("a directory to work in: %w", err)
	}
	p.store, err = newStore(fmt.Sprintf("https://127.0.0.1:%d", firstPort+portsPerInstance*l.Layout.Instance+etcdPort), filepath.Join(dir, "pki"))
	return p, err
}

// Close resumes the API server if it is paused.
func (p *Place) Close() { p.Resume() }

// Namespace creates a namespace for the bench.
func (p *Place) Namespace(ctx context.Context, what string) (string, error) {
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-" + what + "-"}}
	made, err := p.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a namespace: %w", err)
	}
	return made.Name, nil
}

// Jobs returns how many Jobs a namespace holds. Jobs counts in etcd, which costs the API
// server nothing.
func (p *Place) Jobs(ctx context.Context, namespace string) (int, error) {
	return p.store.count(ctx, "/registry/jobs/"+namespace+"/")
}

// Left returns how many Jobs and pods a namespace holds.
func (p *Place) Left(ctx context.Context, namespace string) (int, error) {
	jobs, err := p.Jobs(ctx, namespace)
	if err != nil {
		return 0, err
	}
	pods, err := p.store.count(ctx, "/registry/pods/"+namespace+"/")
	return jobs + pods, err
}

// Clear deletes the Jobs and pods of a namespace directly in etcd.
func (p *Place) Clear(ctx context.Context, namespace string) error {
	for _, kind := range []string{"jobs", "pods"} {
		if err := p.store.remove(ctx, "/registry/"+kind+"/"+namespace+"/"); err != nil {
			return err
		}
	}
	return nil
}

// Pause stops the API server with SIGSTOP: no server can apply anything.
func (p *Place) Pause() error {
	pid, err := p.apiServer()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause the API server: %w", err)
	}
	p.paused = pid
	return nil
}

// Resume continues a paused API server.
func (p *Place) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != 0 {
		_ = syscall.Kill(p.paused, syscall.SIGCONT)
		p.paused = 0
	}
}

// apiServer returns the process id of the API server.
func (p *Place) apiServer() (int, error) { return p.process("kube-apiserver") }

// Control returns the processor time that the API server and etcd have used.
func (p *Place) Control() (apiServer, etcd time.Duration, err error) {
	var pids [2]int
	for i, name := range []string{"kube-apiserver", "etcd"} {
		if pids[i], err = p.process(name); err != nil {
			return 0, 0, err
		}
	}
	return CPU(pids[0]), CPU(pids[1]), nil
}

// process returns the id of a process of the cluster. The command line of such a process
// contains the directory of the cluster.
func (p *Place) process(name string) (int, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, file := range lines {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		arguments := strings.Split(string(line), "\x00")
		if filepath.Base(arguments[0]) != name && (len(arguments) < 2 || arguments[1] != name) {
			continue
		}
		if strings.Contains(string(line), "="+filepath.Join(p.Dir, "pki")+"/") {
			var pid int
			_, err := fmt.Sscanf(file, "/proc/%d/cmdline", &pid)
			return pid, err
		}
	}
	return 0, fmt.Errorf("the %s of the cluster in %s does not run on this machine", name, p.Dir)
}
