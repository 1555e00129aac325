package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"k8s-cli/pkg/crash"
)

const (
	leaseName = "k8s-cli-server"

	// defaultLease lets another pod lead within 5 s of the death of the leader: the other pod
	// sees a renewal at most 2.2 retries late, and tries to take the Lease at most 2.2 retries
	// after its duration (client-go adds a random part of up to 1.2 to each pause).
	defaultLease = 3 * time.Second
	maxLease     = 5 * time.Minute

	// logUnavailable is how long the end of the log may stay unconfirmed before the
	// leader releases the Lease. A pod on the other side of a network partition can then
	// lead. The value is longer than an election in NATS, which takes 4 to 9 s; during
	// the election, no other pod can confirm the end of the log either.
	logUnavailable = 10 * time.Second
)

// renewDeadline returns the time after which the leader stops when it could not renew its Lease.
func renewDeadline(lease time.Duration) time.Duration { return lease * 2 / 3 }

// leaseRetry returns the pause between two requests for the Lease.
func leaseRetry(lease time.Duration) time.Duration { return lease * 2 / 15 }

// leaseTimeout returns the timeout of one request for the Lease, which is shorter than
// renewDeadline, so that a lost request is repeated in time.
func leaseTimeout(lease time.Duration) time.Duration { return lease / 3 }

// lead runs work until ctx ends, and only while this pod is the leader. With an external
// NATS the leader is the pod that holds the Lease. With an embedded NATS this pod always
// leads, because no other process has access to the log. The Lease is no fence: a pod
// that was paused may finish a mutation that it began as the leader. The results of its
// facts in the log make the mutation harmless.
func lead(ctx context.Context, n *dependencies, c config, logger *slog.Logger, work func(context.Context) error) error {
	if n.embedded != nil {
		return work(ctx)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this pod for the Lease: %w", err)
	}
	var working sync.Mutex // the elector can call OnStartedLeading before the previous work has returned
	defer working.Lock()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &lease{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: leaseName},
			Client:     n.leases.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + rand.Text()},
		}},
		LeaseDuration:   c.leaseDuration,
		RenewDeadline:   renewDeadline(c.leaseDuration),
		RetryPeriod:     leaseRetry(c.leaseDuration),
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				working.Lock()
				defer working.Unlock()
				logger.Info("leading: this pod runs the controller")
				crash.Before(crash.Lead)
				_ = work(ctx) // work returns only when ctx ends
				crash.After(crash.Lead)
			},
			OnStoppedLeading: func() { logger.Info("stopped leading") },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	for ctx.Err() == nil {
		whileLogAvailable(ctx, n.log, elector.Run)
	}
	return ctx.Err()
}

// A logConfirmer waits until the end of the log is confirmed, or until it has been
// unconfirmed for a duration.
type logConfirmer interface {
	AwaitAvailable(ctx context.Context) error
	AwaitUnavailable(ctx context.Context, long time.Duration) error
}

// whileLogAvailable waits until the end of the log is confirmed, then runs work. It
// cancels work when the end of the log has been unconfirmed for logUnavailable, or when
// ctx ends.
func whileLogAvailable(ctx context.Context, log logConfirmer, work func(context.Context)) {
	if log.AwaitAvailable(ctx) != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		if log.AwaitUnavailable(ctx, logUnavailable) == nil {
			cancel()
		}
	})
	work(ctx)
	cancel()
}
