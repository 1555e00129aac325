package features

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task/overview"
)

// The capacity counts the requests of the tasks' pods on a machine, until the pods end.
func TestCapacity(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	m := s.newMachine(t, "big", map[string]string{"nvidia.com/gpu.product": "Tesla-T4"}, corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), "nvidia.com/gpu": resource.MustParse("8"),
	})
	node := func(ok func(overview.Node) bool) overview.Node {
		t.Helper()
		var found overview.Node
		eventually(t, "the machine is shown", func() (string, bool) {
			c, err := ann.Capacity(t.Context())
			i := slices.IndexFunc(c.Nodes, func(n overview.Node) bool { return n.Name == m.name })
			if err != nil || !c.Known || i < 0 {
				return fmt.Sprintf("%+v, %v", c, err), false
			}
			found = c.Nodes[i]
			return fmt.Sprintf("%+v", found), ok(found)
		})
		return found
	}
	n := node(func(n overview.Node) bool { return n.Allocatable.CPUs == 64 })
	if n.GPU != "T4" || n.Schedulable || !strings.HasPrefix(n.Taint, machineTaint) || n.Allocatable.GPUs != 8 || n.Requested != (overview.Amounts{}) || n.Free != n.Allocatable {
		t.Errorf("an empty machine: %+v", n)
	}
	id := ann.submit(t, m.file("resources: {cpus: 4, memory: 8, accelerators: 'T4:2'}"))
	pod := m.awaitPod(t, id)
	n = node(func(n overview.Node) bool { return n.Requested.Pods == 1 })
	want := overview.Amounts{CPUs: 4, Memory: 8 << 30, GPUs: 2, Pods: 1}
	if n.Requested != want || n.Free.GPUs != 6 || n.Free.CPUs != 60 {
		t.Errorf("with a task: %+v, want %+v requested", n, want)
	}
	got := s.get(t, "ann", "/capacity")
	if strings.Contains(string(got.body), id) || strings.Contains(string(got.body), `"ann"`) || got.header.Get("ETag") == "" {
		t.Errorf("%s %v", got.body, got.header)
	}
	ann.stop(t, id)
	m.buries(t, pod)
	node(func(n overview.Node) bool { return n.Requested == (overview.Amounts{}) })
}
