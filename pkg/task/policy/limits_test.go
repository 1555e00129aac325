package policy

import (
	"errors"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func TestLimits(t *testing.T) {
	limits := Limits{Nodes: 4, CPUs: 8, Memory: 32 << 30, GPUs: 2}
	for _, tt := range []struct {
		name string
		task task.Spec
		says string
	}{
		{"nothing asked for", task.Spec{}, ""},
		{"as much as there may be", task.Spec{NumNodes: 4, Resources: task.Resources{CPUs: "8+", Memory: "32", Accelerators: "T4:2"}}, ""},
		{"nodes", task.Spec{NumNodes: 5}, "num_nodes: 5 is more than the 4 nodes that this server allows"},
		{"cores", task.Spec{Resources: task.Resources{CPUs: "8.5+"}}, "resources.cpus: 8.5+ is more than the 8 per node that this server allows"},
		{"thousandths of cores", task.Spec{Resources: task.Resources{CPUs: "8001m"}}, "resources.cpus: 8001m is more"},
		{"GiB", task.Spec{Resources: task.Resources{Memory: "33"}}, "resources.memory: 33 is more than the 32Gi per node"},
		{"a decimal unit", task.Spec{Resources: task.Resources{Memory: "40G"}}, "resources.memory: 40G is more"},
		{"a smaller unit", task.Spec{Resources: task.Resources{Memory: "32768Mi"}}, ""},
		{"GPUs", task.Spec{Resources: task.Resources{Accelerators: "H100:2.5"}}, "resources.accelerators: H100:2.5 is more than the 2 per node"},
		{"an alternative", task.Spec{Resources: task.Resources{AnyOf: []task.Resources{{CPUs: "1"}, {CPUs: "16"}}}}, "resources.cpus: 16 is more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := limits.Check(tt.task)
			if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), tt.says)) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if err := (Limits{}).Check(tt.task); err != nil {
				t.Errorf("without limits: %v", err)
			}
		})
	}
}
