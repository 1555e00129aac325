// Package capacity compares what machines offer with what tasks have requested.
package capacity

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task/gpu"
	"k8s-cli/pkg/task/overview"
)

// Requests are the resources that a pod requests.
type Requests struct {
	MilliCPUs, Memory, GPUs int64
}

// RequestsOf returns the requests of a pod. As in the API server, a limit without a request counts
// as a request.
func RequestsOf(p *corev1.PodSpec) (r Requests) {
	for i := range p.Containers {
		c := &p.Containers[i].Resources
		of := func(name corev1.ResourceName) int64 {
			q, ok := c.Requests[name]
			if !ok {
				q = c.Limits[name]
			}
			if name == corev1.ResourceCPU {
				return q.MilliValue()
			}
			return q.Value()
		}
		r.MilliCPUs += of(corev1.ResourceCPU)
		r.Memory += of(corev1.ResourceMemory)
		r.GPUs += of(gpu.Nvidia) + of(gpu.AMD)
	}
	return r
}

// A sum is the number of some pods and their requests.
type sum struct {
	Requests

	pods int64
}

func (s *sum) add(r Requests, times int64) {
	s.MilliCPUs += times * r.MilliCPUs
	s.Memory += times * r.Memory
	s.GPUs += times * r.GPUs
	s.pods += times
}

func (s *sum) amounts() overview.Amounts {
	return overview.Amounts{CPUs: float64(s.MilliCPUs) / 1000, Memory: s.Memory, GPUs: s.GPUs, Pods: s.pods}
}

// A Ledger sums up the requests of the pods on each machine. A Ledger is safe for concurrent use.
type Ledger struct {
	nodes *nodefit.Nodes

	mu      sync.RWMutex
	pods    map[string]placement // by the name of the pod
	byHost  map[string]*sum      // "" for the pods without a machine
	version uint64               // counts the changes
}

// A placement is the machine of a pod, "" if it has none yet, and what the pod requests.
type placement struct {
	host string
	Requests
}

// NewLedger returns a ledger without pods.
func NewLedger(nodes *nodefit.Nodes) *Ledger {
	return &Ledger{nodes: nodes, pods: map[string]placement{}, byHost: map[string]*sum{}}
}

// Add records the machine and the requests of a pod that has not ended.
func (l *Ledger) Add(pod, host string, r Requests) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := placement{host, r}
	if before, known := l.pods[pod]; known && before == now {
		return
	}
	l.drop(pod)
	l.pods[pod] = now
	l.count(now, 1)
}

// Drop removes a pod that has ended or was deleted.
func (l *Ledger) Drop(pod string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(pod)
}

func (l *Ledger) drop(pod string) {
	if before, known := l.pods[pod]; known {
		delete(l.pods, pod)
		l.count(before, -1)
	}
}

func (l *Ledger) count(p placement, times int64) {
	if l.byHost[p.host] == nil {
		l.byHost[p.host] = &sum{}
	}
	if l.byHost[p.host].add(p.Requests, times); l.byHost[p.host].pods == 0 {
		delete(l.byHost, p.host)
	}
	l.version++
}

// CapacityVersion returns numbers that change whenever Capacity may change.
func (l *Ledger) CapacityVersion() [2]uint64 {
	nodes := l.nodes.Version()
	l.mu.RLock()
	defer l.mu.RUnlock()
	return [2]uint64{nodes, l.version}
}

// Capacity returns what the machines offer and what the pods of tasks have requested.
func (l *Ledger) Capacity() overview.Capacity {
	all, known := l.nodes.Sorted()
	l.mu.RLock()
	defer l.mu.RUnlock()
	c := overview.Capacity{Known: known, GPUs: []overview.GPUModel{}, Nodes: make([]overview.Node, 0, len(all))}
	if waiting := l.byHost[""]; waiting != nil {
		c.Waiting = waiting.amounts()
	}
	for _, node := range all {
		n := l.node(node)
		c.Nodes = append(c.Nodes, n)
		if n.Schedulable && n.Ready {
			add(&c.Total, n.Resources)
			c.GPUs = addModel(c.GPUs, &n)
		}
	}
	slices.SortFunc(c.GPUs, func(a, b overview.GPUModel) int { return strings.Compare(a.Model, b.Model) })
	return c
}

// node returns one machine; the caller holds the lock.
func (l *Ledger) node(node *corev1.Node) overview.Node {
	taint := nodefit.Taint(node)
	n := overview.Node{Name: node.Name, Ready: nodefit.Ready(node), Schedulable: taint == "", Taint: taint}
	has := node.Status.Allocatable
	n.Allocatable = overview.Amounts{CPUs: float64(has.Cpu().MilliValue()) / 1000, Memory: has.Memory().Value(), Pods: has.Pods().Value()}
	for _, name := range []corev1.ResourceName{gpu.Nvidia, gpu.AMD} {
		q := has[name]
		n.Allocatable.GPUs += q.Value()
	}
	if n.Allocatable.GPUs > 0 {
		n.GPU = gpu.ModelIn(node.Labels)
	}
	if used := l.byHost[node.Name]; used != nil {
		n.Requested = used.amounts()
	}
	n.Free = free(n.Allocatable, n.Requested)
	return n
}

func free(has, used overview.Amounts) overview.Amounts {
	return overview.Amounts{
		CPUs: max(0, has.CPUs-used.CPUs), Memory: max(0, has.Memory-used.Memory), GPUs: max(0, has.GPUs-used.GPUs), Pods: max(0, has.Pods-used.Pods),
	}
}

func add(to *overview.Resources, r overview.Resources) {
	for _, x := range []struct {
		to  *overview.Amounts
		add overview.Amounts
	}{{&to.Allocatable, r.Allocatable}, {&to.Requested, r.Requested}, {&to.Free, r.Free}} {
		x.to.CPUs += x.add.CPUs
		x.to.Memory += x.add.Memory
		x.to.GPUs += x.add.GPUs
		x.to.Pods += x.add.Pods
	}
}

// addModel adds a machine to the GPU models.
func addModel(all []overview.GPUModel, n *overview.Node) []overview.GPUModel {
	if n.Allocatable.GPUs == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(m overview.GPUModel) bool { return m.Model == n.GPU })
	if i < 0 {
		i, all = len(all), append(all, overview.GPUModel{Model: n.GPU})
	}
	m := &all[i]
	m.Nodes++
	m.Largest, m.LargestFree = max(m.Largest, n.Allocatable.GPUs), max(m.LargestFree, n.Free.GPUs)
	m.Allocatable += n.Allocatable.GPUs
	m.Requested += n.Requested.GPUs
	m.Free += n.Free.GPUs
	return all
}
