package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/cache/samples"
	"k8s-cli/pkg/queue/events"
	"k8s-cli/pkg/queue/natsconn"
)

// runLeader runs the work of the leader until ctx ends.
func (p *parts) runLeader(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.controller.Run(ctx) })
	g.Go(func() error {
		return p.deps.events.Publisher(p.store, func() events.Replayer { return cache.NewReplayer() }).Run(ctx)
	})
	g.Go(func() error { return p.deps.log.RunSnapshots(ctx, p.store) })
	g.Go(func() error {
		return p.deps.uploads.Sweep(ctx, p.store, p.deps.log, p.config.keepUploads, p.logger)
	})
	g.Go(func() error {
		return p.deps.outputs.SweepOutputs(ctx, p.store.OutputObjects, p.deps.log, p.logger)
	})
	g.Go(func() error { return p.sampler().Run(ctx) })
	if p.config.keepLogs > 0 {
		g.Go(func() error { return p.archiver.Run(ctx) })
	}
	if p.notifies() {
		g.Go(func() error { return p.notifier.Run(ctx) })
	}
	if p.config.policy.tasks.Transfer.Image != "" {
		g.Go(func() error { return p.copies.Run(ctx) })
	}
	return g.Wait()
}

// sampler returns a sampler of what the nodes of tasks use.
func (p *parts) sampler() *samples.Sampler {
	list := samples.NewLister(p.deps.k8s.CoreV1().RESTClient(), p.config.namespace)
	send := func(message []byte) error { return natsconn.SendSamples(p.deps.nats, message) }
	return samples.NewSampler(p.store.Samples, list, send, p.logger)
}
