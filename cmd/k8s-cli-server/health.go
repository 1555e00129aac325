package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
)

// health holds the state of this pod for the health endpoints and the metrics.
type health struct {
	log     *queue.Log
	store   *cache.Store
	synced  atomic.Bool
	closing atomic.Bool // the server finishes active requests and rejects new ones
	leads   atomic.Bool
}

func newHealth(log *queue.Log, store *cache.Store) *health { return &health{log: log, store: store} }

// leading returns a function that marks this pod as the leader while work runs.
func (h *health) leading(work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		h.leads.Store(true)
		defer h.leads.Store(false)
		return work(ctx)
	}
}

// setSynced marks the store as complete.
func (h *health) setSynced() { h.synced.Store(true) }

// setClosing marks the server as terminating: new commands are rejected.
func (h *health) setClosing() { h.closing.Store(true) }

// Ready reports whether this pod can answer reads.
func (h *health) Ready() bool {
	return h.synced.Load() && h.log.IsCaughtUp() && !h.closing.Load()
}

// Health returns the state of this pod and the reasons why the pod is degraded.
func (h *health) Health() api.Health {
	now := api.Health{Ready: h.Ready(), Leading: h.leads.Load()}
	switch {
	case h.closing.Load():
		now.Degraded = append(now.Degraded, "terminating: new commands are rejected")
	case !now.Ready:
		now.Degraded = append(now.Degraded, "starting: the pod has not yet read the command log and the cluster")
	}
	if age, ok := h.log.Lag(); !ok {
		now.Degraded = append(now.Degraded, fmt.Sprintf("NATS has not confirmed the end of the command log for %.0f s: submit and stop answer 503, reads may be old", age.Seconds()))
	}
	if err := h.log.StartErr(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if err := h.log.StoreErr(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if err := h.log.CheckCapacity(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if age, err := h.store.ClusterLag(); err != nil {
		now.Degraded = append(now.Degraded, fmt.Sprintf("the API server has not answered for %.0f s: tasks wait, reads may be old: %v", age.Seconds(), err))
	}
	if !now.Leading {
		now.Degraded = append(now.Degraded, "not leading: another pod runs the controller, or no pod does yet")
	}
	return now
}
