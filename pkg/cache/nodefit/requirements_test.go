package nodefit_test

import (
	"testing"
	"time"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

// TestRequirementsAreThoseOfThePod compares the requirements of a task before its pod exists
// with what the controller writes into the pod.
func TestRequirementsAreThoseOfThePod(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []task.Resources{
		{},
		{CPUs: "4+", Memory: "16"},
		{CPUs: "0.5", Memory: "0.3"},
		{CPUs: "500m", EphemeralStorage: 20},
		{Accelerators: "8"},
		{Accelerators: "H100:8", CPUs: "8"},
		{Accelerators: "L4"},
		{Accelerators: "MI300X:2"},
		{UseSpot: true},
		{Accelerators: "tpu-v5-lite-podslice:4"},
		{UseSpot: true, Accelerators: "L4", CPUs: "2"},
	} {
		record := &task.Record{CreatedAt: time.Unix(0, 0), Submit: task.Submit{
			ID: "a1b2", User: "ann", Image: "python", Task: task.Spec{Run: "true", Resources: r}, Spot: r.UseSpot,
		}}
		pod := objects.Jobs(record, "default")[0].Spec.Template
		want := nodefit.TaskRequirements(r)
		if got := nodefit.PodRequirements(&pod.Spec); got.Key() != want.Key() {
			t.Errorf("%+v: the pod requires\n%s\nwant\n%s", r, got.Key(), want.Key())
		}
		seen[want.Key()] = true
	}
	if len(seen) < 10 {
		t.Errorf("%d different requirements", len(seen))
	}
}
