package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"k8s-cli/pkg/crash"
)

// A lease is the Lock of the leader election, which nobody releases but its
// holder. client-go's elector releases it when it could not renew it, whoever
// holds it by then: a leader that was paused would, on waking up, take it from
// the one that leads.
type lease struct {
	resourcelock.Interface
	holder string // when it was last looked at
}

// Get notes who holds the Lease.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.holder = record.HolderIdentity
	}
	return record, raw, err
}

// Update takes, renews or releases the Lease as it was last looked at.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	crash.Before(crash.RenewLease)
	defer crash.After(crash.RenewLease)
	if r.HolderIdentity == "" && l.holder != "" && l.holder != l.Identity() {
		return fmt.Errorf("release the Lease: %s holds it by now", l.holder)
	}
	return l.Interface.Update(ctx, r)
}
