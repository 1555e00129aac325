package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"k8s-cli/pkg/crash"
)

const (
	leaseName     = "k8s-cli-server"
	leaseDuration = 5 * time.Second // after which another pod takes over from one that died
	renewDeadline = 3 * time.Second // after which one that cannot renew gives up
	leaseRetry    = time.Second

	// logUnavailable is for how long the end of the log may be out of reach before the
	// leader gives the Lease up: a pod on the other side of a partition can lead. It
	// is longer than NATS takes to elect a leader, 4 to 9 s, during which no pod can
	// do better.
	logUnavailable = 10 * time.Second
)

// lead runs work on one pod at a time, until ctx ends: on the one that holds
// the Lease, or here if the log is inside this process and nobody else's. It is
// no fence: a pod that was paused may finish what it had begun, which the log's
// verdicts make harmless.
func lead(ctx context.Context, n *dependencies, namespace string, logger *slog.Logger, work func(context.Context) error) error {
	if n.embedded != nil {
		return work(ctx)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this pod for the Lease: %w", err)
	}
	var working sync.Mutex // the elector starts work anew without waiting for its former end
	defer working.Lock()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &lease{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
			Client:     n.leases.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + uuid.NewString()},
		}},
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     leaseRetry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				working.Lock()
				defer working.Unlock()
				logger.Info("leading: this pod applies commands")
				crash.Before(crash.Lead)
				_ = work(ctx) // ends with ctx only
				crash.After(crash.Lead)
			},
			OnStoppedLeading: func() { logger.Info("not leading any more") },
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

// A logConfirmer knows whether the end of the log can be confirmed.
type logConfirmer interface {
	AwaitAvailable(ctx context.Context) error
	AwaitUnavailable(ctx context.Context, long time.Duration) error
}

// whileLogAvailable runs work once the end of the log is confirmed, until that has
// not been possible for logUnavailable, or ctx ends.
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
