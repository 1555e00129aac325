package nodefit

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/placement"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
)

// Nodes holds the nodes of the cluster: what each node offers when it is empty, and which pods
// it accepts. How much of a node is in use is not known. Nodes is safe for concurrent use.
type Nodes struct {
	mu      sync.RWMutex
	known   bool
	all     map[string]*corev1.Node // by name, trimmed by Trim
	memo    map[string]Reason       // by the key of the requirements; cleared at every change
	changed chan struct{}           // holds one token after a change
	version uint64                  // counts the changes
}

// NewNodes returns an empty Nodes.
func NewNodes() *Nodes {
	return &Nodes{all: map[string]*corev1.Node{}, memo: map[string]Reason{}, changed: make(chan struct{}, 1)}
}

// CanHold reports whether some empty node could hold one node of a task with these resources,
// which are one of the task's alternatives. known is false while this pod does not know the
// nodes; can is false then.
func (n *Nodes) CanHold(r task.Resources) (can, known bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.known {
		return false, false
	}
	r.UseSpot = r.UseSpot && n.hasSpot()
	requirements := TaskRequirements(r)
	for _, node := range n.all {
		if requirements.fit(node) {
			return true, true
		}
	}
	return false, true
}

// HasSpot reports whether the cluster has spot machines. known is false while this pod does not
// know the nodes.
func (n *Nodes) HasSpot() (has, known bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.known && n.hasSpot(), n.known
}

func (n *Nodes) hasSpot() bool {
	for _, node := range n.all {
		if placement.IsSpot(node.Labels) {
			return true
		}
	}
	return false
}

// Count returns the number of nodes that accept pods without tolerations: cordoned and tainted
// nodes do not count. known is false while this pod does not know the nodes.
func (n *Nodes) Count() (count int, known bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, node := range n.all {
		repels := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		if !repels && !node.Spec.Unschedulable {
			count++
		}
	}
	return count, n.known
}

// Trim returns a copy of a node with only name, labels, taints, allocatable resources, and the
// condition Ready.
func Trim(o *corev1.Node) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: o.Labels},
		Spec:       corev1.NodeSpec{Taints: o.Spec.Taints, Unschedulable: o.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Allocatable: o.Status.Allocatable},
	}
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			node.Status.Conditions = []corev1.NodeCondition{{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
			}}
		}
	}
	return node
}

// Put adds a node, or replaces the node of the same name.
func (n *Nodes) Put(node *corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.all[node.Name]; before != nil && equality.Semantic.DeepEqual(before, node) {
		return
	}
	n.all[node.Name] = node
	n.invalidateLocked()
}

// Drop removes a node.
func (n *Nodes) Drop(node *corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, node.Name)
	n.invalidateLocked()
}

// MarkSynced records that all nodes are known.
func (n *Nodes) MarkSynced() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = true
	n.invalidateLocked()
}

// Invalidate causes the tasks that wait for a node to be explained again.
func (n *Nodes) Invalidate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.invalidateLocked()
}

func (n *Nodes) invalidateLocked() {
	clear(n.memo)
	n.version++
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Key returns the name of a node.
func (n *Nodes) Key(node *corev1.Node) string { return node.Name }

// Changed returns a channel that receives a token when the nodes have changed.
func (n *Nodes) Changed() <-chan struct{} { return n.changed }

// All returns all nodes.
func (n *Nodes) All() []*corev1.Node {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Collect(maps.Values(n.all))
}

// Version returns a number that changes whenever the nodes change.
func (n *Nodes) Version() uint64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.version
}

// Sorted returns the nodes sorted by name. known is false while this pod does not know the nodes.
func (n *Nodes) Sorted() (all []*corev1.Node, known bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.sorted(), n.known
}

// Ready reports whether a node is ready.
func Ready(node *corev1.Node) bool {
	return len(node.Status.Conditions) > 0 && node.Status.Conditions[0].Status == corev1.ConditionTrue
}

// Taint returns the taint for which a node accepts no pod of a task, or "". Pods with GPUs tolerate
// the taint of nodes that are reserved for GPUs, and pods with use_spot the taint of spot machines.
func Taint(node *corev1.Node) string {
	var r Requirements
	for _, name := range []corev1.ResourceName{gpu.Nvidia, gpu.AMD, gpu.TPU} {
		if q := node.Status.Allocatable[name]; q.Value() > 0 {
			r.tolerations = append(r.tolerations, placement.TolerationOf(name))
		}
	}
	if placement.IsSpot(node.Labels) {
		r.tolerations = append(r.tolerations, placement.SpotTolerations()...)
	}
	return r.untoleratedTaint(node)
}

// NotReady returns the condition of a node that is not ready; ok is false for a ready or
// unknown node.
func (n *Nodes) NotReady(name string) (c corev1.NodeCondition, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	node := n.all[name]
	if node == nil || len(node.Status.Conditions) == 0 || node.Status.Conditions[0].Status == corev1.ConditionTrue {
		return corev1.NodeCondition{}, false
	}
	return node.Status.Conditions[0], true
}

// sorted returns the nodes sorted by name.
func (n *Nodes) sorted() []*corev1.Node {
	all := make([]*corev1.Node, 0, len(n.all))
	for _, node := range n.all {
		all = append(all, node)
	}
	slices.SortFunc(all, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return all
}
