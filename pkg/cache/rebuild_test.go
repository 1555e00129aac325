package cache

import (
	"strings"
	"testing"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// While a model is being rebuilt, the store answers from the old model. Changes of the cluster in that
// time are in the new model.
func TestReadsDoNotWaitForARestore(t *testing.T) {
	kept, gone, late := submit("ann", "kept"), submit("ann", "gone"), submit("ann", "late")
	volume := create("ann", "v", "data")
	whole := newTestStore(t, kept, gone, late, volume, mounting("ann", "m", "foreign"))
	_, text := whole.snapshot()

	p := newTestStore(t, submit("ann", "before"))
	p.putJob(job(kept, 0, task.Pending))
	p.putJob(job(gone, 0, task.Pending))
	_, changed := p.WatchTask("before")
	next, err := state.Decode(strings.NewReader(text))
	must.Succeed(t, err)
	m := p.clusterOnly(next)

	done := make(chan struct{})
	go func() {
		defer close(done)
		if got := p.task("ann", "before"); got != "before of ann: pending" {
			t.Errorf("while it is restored: %q", got)
		}
		p.dropJob("gone", job(gone, 0, task.Pending).Name)
		p.putJob(job(late, 0, task.Running))
		p.putPod(pod(job(late, 0, task.Running), 1, task.Running))
		p.putClaim(claim(volume, "Bound"))
		p.putClaim(&task.Claim{Name: "foreign", UID: "f"})
	}()
	testkit.Wait(t, testTimeout, "readers and informers that wait for the restore", done)
	m.applyAll()
	p.swap(m)
	select {
	case <-changed:
	default:
		t.Error("whoever watches a task that is no more is not told")
	}
	if p.task("ann", "before") != "" {
		t.Error("a task that the snapshot does not hold is answered for")
	}
	if j := p.view("kept").Jobs[0]; j == nil {
		t.Error("a Job of before is lost")
	}
	if j := p.view("gone").Jobs[0]; j != nil {
		t.Error("a Job that is gone is still there")
	}
	if v := p.view("late"); v.Jobs[0] == nil || v.Pods[0] == nil {
		t.Error("a Job that came meanwhile is lost")
	}
	if c := p.VolumeView("v").Claim; c == nil || c.Phase != "Bound" {
		t.Error("a claim that came meanwhile is lost")
	}
	if v := p.view("m"); len(v.Missing) != 0 {
		t.Errorf("a task does not know the claim that came meanwhile, missing %q", v.Missing)
	}
	if len(p.pendingChanges) != 0 || p.rebuilding {
		t.Error("changes are still noted")
	}
}

func TestClaimsStayRestrictedWhenTheLogIsReadAnew(t *testing.T) {
	p := newTestStore(t)
	p.RestrictClaims(policy.Claims{Reserved: []string{"other"}})
	p.putClaim(&task.Claim{Name: "other", Phase: task.VolumeBound})
	p.apply(mounting("ann", "a", "other"))
	if v := p.view("a"); len(v.Missing) != 1 {
		t.Fatalf("a reserved claim is resolved: %v", v.Resolved)
	}
	_, text := p.snapshot()
	must.Succeed(t, p.Restore(strings.NewReader(text)))
	if v := p.view("a"); len(v.Missing) != 1 {
		t.Errorf("after a snapshot was restored, a reserved claim is resolved: %v", v.Resolved)
	}
}
