package features

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// Of several resource alternatives, the task gets the first one that fits a node of the
// cluster.
func TestFirstFittingResourceAlternative(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	choose := task.Spec{Run: "true", Resources: task.Resources{Ordered: []task.Resources{
		{CPUs: "100000"}, {Accelerators: "H100:8"}, {CPUs: "0.1"}, {CPUs: "0.2"},
	}}}
	var id string
	eventually(t, "the nodes to be known", func() (string, bool) {
		got, err := ann.Submit(t.Context(), choose)
		must.Succeed(t, err)
		id = got.ID
		chosen := slices.ContainsFunc(got.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "resources: using alternative 3 of 4: no machine can hold the earlier alternatives")
		})
		return fmt.Sprint(got.Warnings), chosen
	})
	ann.await(t, id, task.Completed)
	got, err := ann.Submit(t.Context(), task.Spec{Run: "true", Resources: task.Resources{AnyOf: choose.Resources.Ordered[:2]}})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "and the task waits: no machine can hold any alternative") {
		t.Errorf("%+v, %v", got, err)
	}
}
