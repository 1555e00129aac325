package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"k8s-cli/test/testkit/must"
)

// TestOnlyItsHolderReleasesTheLease checks that a pod releases the Lease only while the
// pod is the holder.
func TestOnlyItsHolderReleasesTheLease(t *testing.T) {
	cluster := fake.NewClientset()
	lock := func(identity string) *lease {
		return &lease{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: leaseName},
			Client:     cluster.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}}
	}
	record := func(holder string) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 5}
	}
	slept, leads := lock("slept"), lock("leads")
	must.Succeed(t, slept.Create(t.Context(), record("slept")))
	for _, step := range []struct {
		by     *lease
		record resourcelock.LeaderElectionRecord
		ok     bool
		holder string
	}{
		{slept, record("slept"), true, "slept"},
		{leads, record("leads"), true, "leads"},
		{slept, record(""), false, "leads"},
		{leads, record("leads"), true, "leads"},
		{leads, record(""), true, ""},
		{slept, record("slept"), true, "slept"},
	} {
		if _, _, err := step.by.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := step.by.Update(t.Context(), step.record); (err == nil) != step.ok {
			t.Errorf("%s writes %q: %v", step.by.Identity(), step.record.HolderIdentity, err)
		}
		got, _, err := step.by.Get(t.Context())
		if err != nil || got.HolderIdentity != step.holder {
			t.Fatalf("after %s wrote %q, %q holds it (%v), want %q", step.by.Identity(), step.record.HolderIdentity, got.HolderIdentity, err, step.holder)
		}
	}
}
