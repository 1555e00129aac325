package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/trace"
)

// run starts all parts of the server. When one part stops, run stops the other parts and
// returns after all parts have stopped.
func run(ctx context.Context, c config, logger *slog.Logger) error {
	klog.SetSlogLogger(logger) // client-go logs through klog
	listening, err := openSockets(c, logger)
	if err != nil {
		return err
	}
	defer listening.close()
	tracer, err := trace.Open(ctx, "k8s-cli-server", os.Getenv, logger)
	if err != nil {
		return err
	}
	defer endTraces(tracer)
	calls := newKubernetesMetrics() // registered before connect, so that its requests are counted
	start := startBootstrap(listening.api.Share(), c.identity.login(), logger)
	defer start.close()
	deps, err := connect(ctx, c, start, logger)
	if err != nil {
		return err
	}
	defer deps.close()
	p, err := buildParts(ctx, c, deps, tracer, calls, logger)
	if err != nil {
		return err
	}
	return p.run(ctx, listening, start.handOver)
}

// run runs the parts until one part stops or ctx ends. A signal ends ctx, and with it
// only the HTTP server: the HTTP server needs the other parts to finish its active
// requests. The other parts stop after the HTTP server has stopped.
func (p *parts) run(ctx context.Context, listening *sockets, handOver func()) error {
	g, running := errgroup.WithContext(context.WithoutCancel(ctx))
	serving, stop := context.WithCancel(ctx)
	defer context.AfterFunc(running, stop)()
	defer context.AfterFunc(serving, p.health.setClosing)()
	g.Go(func() error { return p.deps.runStore(running) })
	g.Go(func() error { return p.deps.log.Run(running, p.stateMachine()) })
	g.Go(func() error { return p.informers.Run(running) })
	g.Go(func() error { return p.optional.Run(running) })
	g.Go(func() error { return natsconn.ReceiveSamples(running, p.deps.nats, p.store.Samples.Receive) })
	handOver()
	g.Go(func() error { return p.server.Run(serving, listening.api) })
	if listening.files != nil {
		g.Go(func() error { return serveFiles(serving, listening.files, listening.api.dial, p.logger) })
	}
	if listening.admin != nil {
		p.logger.Info("serving metrics and profiles", "listen", listening.admin.Addr().String())
		g.Go(func() error { return serveAdmin(running, listening.admin, p.metrics) })
	}
	g.Go(func() error {
		if err := caughtUp(running, p.deps.log, p.informers); err != nil {
			return err
		}
		p.health.setSynced()
		p.logger.Info("ready", "listen", listening.api.Addr().String())
		return lead(running, p.deps, p.config, p.logger, p.health.leading(p.runLeader))
	})
	return g.Wait()
}

// caughtUp waits until the store has applied the whole log and the informers have synced.
func caughtUp(ctx context.Context, log *queue.Log, informers *cache.Informers) error {
	return errors.Join(log.WaitCaughtUp(ctx), informers.Synced(ctx))
}
