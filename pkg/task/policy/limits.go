package policy

import (
	"fmt"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Limits bounds the requests of one task; 0 means no limit. Resources that a task does not
// request are not limited; a LimitRange of the cluster can limit such resources.
type Limits struct {
	Nodes  int
	CPUs   float64 // cores of each node
	Memory int64   // bytes of each node
	GPUs   int     // of each node
}

// Check returns an error for the first request of a valid task that exceeds a limit, in any
// alternative. The error is of kind problem.NotAllowed.
func (l Limits) Check(t task.Spec) error {
	if l.Nodes > 0 && t.Nodes() > l.Nodes {
		return problem.New(problem.NotAllowed, fmt.Sprintf("num_nodes: %d is more than the %d nodes that this server allows", t.Nodes(), l.Nodes))
	}
	for _, r := range t.Resources.Alternatives() {
		if err := l.check(r); err != nil {
			return problem.New(problem.NotAllowed, "resources."+err.Error()+" per node that this server allows")
		}
	}
	return nil
}

func (l Limits) check(r task.Resources) error {
	if cpus := r.Cores(); l.CPUs > 0 && cpus > l.CPUs {
		return fmt.Errorf("cpus: %s is more than the %g", r.CPUs, l.CPUs)
	}
	if memory := r.MemoryBytes(); l.Memory > 0 && memory > float64(l.Memory) {
		return fmt.Errorf("memory: %s is more than the %s", r.Memory, task.SizeText(l.Memory))
	}
	if _, count, _ := r.GPUs(); l.GPUs > 0 && count > l.GPUs {
		return fmt.Errorf("accelerators: %s is more than the %d", r.Accelerators, l.GPUs)
	}
	return nil
}
