package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"k8s-cli/pkg/crash"
)

// A lease is the lock of the leader election. It allows only the holder to release the
// Lease. client-go's elector releases the Lease when a renewal failed, even if another
// pod is the holder by then: a leader that was paused would take the Lease from the new
// leader.
type lease struct {
	resourcelock.Interface
	holder string // as of the last Get
}

// Get reads the Lease and records its holder.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.holder = record.HolderIdentity
	}
	return record, raw, err
}

// Update takes, renews or releases the Lease. It returns an error for a release if
// another pod held the Lease at the last Get.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	crash.Before(crash.RenewLease)
	defer crash.After(crash.RenewLease)
	if r.HolderIdentity == "" && l.holder != "" && l.holder != l.Identity() {
		return fmt.Errorf("release the Lease: %s holds it by now", l.holder)
	}
	return l.Interface.Update(ctx, r)
}
