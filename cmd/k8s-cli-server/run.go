package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/logs"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/events"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/submit"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/trace"
)

// run starts every part of the server and returns when the first one stops,
// after all of them have.
func run(ctx context.Context, c config, logger *slog.Logger) error {
	klog.SetSlogLogger(logger) // client-go speaks through it
	listener, err := c.identity.listen("--listen", c.listen, logger)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	var files *listeners // nil: files of tasks are on the API's listener alone
	if c.filesListen != "" {
		if files, err = c.identity.listen("--files-listen", c.filesListen, logger); err != nil {
			return err
		}
		defer func() { _ = files.Close() }()
	}
	admin, err := listenAdmin(c.adminListen)
	if err != nil {
		return err
	}
	tracer, err := trace.Open(ctx, "k8s-cli-server", os.Getenv, logger)
	if err != nil {
		return err
	}
	defer endTraces(tracer)
	calls := newKubernetesMetrics()
	start := &bootstrapServer{}
	handOver, handedOver := start.start(listener.Share(), c.identity.login(), logger)
	defer handedOver()
	defer handOver()
	deps, err := connect(ctx, c, start, logger)
	if err != nil {
		return err
	}
	defer deps.close()

	who, err := c.identity.authenticator(ctx, deps.k8s, logger)
	if err != nil {
		return err
	}
	deps.authenticator.Set(who)
	store := cache.New(status.Renderer{Namespace: c.namespace})
	store.Limit(c.admission.limits())
	store.RestrictClaims(c.policy.claims())
	opened, token := deps.secrets()
	tailer := logs.New(deps.k8s, c.namespace, store, deps.archivedLogs, logger)
	archiver := logs.NewArchiver(tailer, store, int(c.keepLogs), deps.log.IsCaughtUp)
	controller := submit.New(deps.k8s, c.namespace, store, deps.log, submit.Config{
		Secrets:  opened,
		Hosts:    store.Nodes().Count,
		Token:    token,
		Workers:  c.workers,
		Limiter:  deps.limiter,
		KeepJobs: max(c.keepJobs, 1),
		History:  c.history,
		Tasks:    c.historyTasks,
		Logger:   logger,
		Trace:    tracer,

		AdoptLegacy: c.adoptLegacy,
		Archived:    archived(c, archiver),
	})
	archiver.OnArchived(controller.Changed)
	store.OnChange(controller.Changed)
	sources := cache.SourcesIn(c.namespace, deps.k8s)
	sources.Jobs, sources.Pods = deps.listwatch.Jobs(c.namespace), deps.listwatch.Pods(c.namespace)
	informers := store.Watch(sources)
	optional := store.WatchNodesAndEvents(deps.k8s, c.namespace, logger)
	health := &health{log: deps.log, store: store}
	counted, err := registry(deps.log.Metrics(), deps.events.Metrics(), informers.Metrics(), controller.Metrics(), health, calls)
	if err != nil {
		return err
	}
	store.OnChange(archiver.Changed)
	settings := api.Config{
		DefaultImage: c.defaultImage,
		Limits:       task.Limits{Nodes: c.maxNodes, CPUs: c.maxCPUs, Memory: int64(c.maxMemory), GPUs: c.maxGPUs},
		Policy:       c.policy.tasks,
		Sealer:       deps.taskSealer(),
		Nodes:        store.Nodes(),
		Previewer:    &previewer{store: store, namespace: c.namespace},
		Uploads:      api.Uploads{Store: deps.uploads, Limit: int64(c.maxUpload), Advertise: strings.TrimRight(c.advertiseURL, "/"), Tokens: deps.tokenVerifier()},
		Login:        c.identity.login(),
		Hosts:        c.identity.allowedHosts(),
		UserLimits:   c.perUser.limits(),
		Slots:        c.atOnce.limits(),
		Usage:        store,
		Logger:       logger,
		Trace:        tracer,
	}
	if who != nil {
		settings.Auth = who
	}
	if admin == nil {
		settings.Metrics = metricsHandler(counted)
	}
	viewer := status.NewViewer(deps.log, store)
	server := api.New(deps.log, api.Readers{
		Tasks: viewer, Volumes: viewer, Uploads: viewer, Owners: viewer,
		Events: status.NewEvents(deps.log, deps.events, store), Logs: tailer,
	}, health, settings)
	if err := counted.Register(server.Metrics()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}

	// A signal ends the server alone. Once it has answered what was under way,
	// for which it needs the others, its end is theirs too.
	g, parts := errgroup.WithContext(context.WithoutCancel(ctx))
	serving, stop := context.WithCancel(ctx)
	defer context.AfterFunc(parts, stop)()
	defer context.AfterFunc(serving, func() { health.closing.Store(true) })()
	g.Go(func() error { return deps.runStore(parts) })
	g.Go(func() error { return deps.log.Run(parts, store) })
	g.Go(func() error { return informers.Run(parts) })
	g.Go(func() error { return optional.Run(parts) })
	g.Go(func() error {
		handOver()
		return server.Run(serving, listener)
	})
	if files != nil {
		g.Go(func() error { return serveFiles(serving, files, listener.dial, logger) })
	}
	if admin != nil {
		logger.Info("operators are served", "listen", admin.Addr().String())
		g.Go(func() error { return serveAdmin(parts, admin, metricsHandler(counted)) })
	}
	g.Go(func() error {
		if err := caughtUp(parts, deps.log, informers); err != nil {
			return err
		}
		health.synced.Store(true)
		logger.Info("ready", "listen", listener.Addr().String())
		return lead(parts, deps, c.namespace, logger, health.leading(func(ctx context.Context) error {
			work, ctx := errgroup.WithContext(ctx)
			work.Go(func() error { return controller.Run(ctx) })
			work.Go(func() error {
				return deps.events.Publisher(store, func() events.Replayer { return cache.NewReplayer() }).Run(ctx)
			})
			work.Go(func() error { return deps.log.RunSnapshots(ctx, store) })
			work.Go(func() error {
				return deps.uploads.Sweep(ctx, store, deps.log, c.keepUploads, logger)
			})
			if c.keepLogs > 0 {
				work.Go(func() error { return archiver.Run(ctx) })
			}
			return work.Wait()
		}))
	})
	return g.Wait()
}

// A previewer shows the objects that a submission would have.
type previewer struct {
	store     *cache.Store
	namespace string
}

// Preview returns the objects of a submission, and what would keep it from having
// them.
func (p *previewer) Preview(s task.Submit) ([]json.RawMessage, []string, error) {
	return submit.Preview(p.store, s, p.namespace, p.store.Nodes().Count)
}

// archived returns what tells whether a task's logs are archived, nil if no logs are.
func archived(c config, archiver *logs.Archiver) func(id string) bool {
	if c.keepLogs == 0 {
		return nil
	}
	return archiver.Archived
}

// caughtUp waits until the store is complete.
func caughtUp(ctx context.Context, log *queue.Log, informers *cache.Informers) error {
	return errors.Join(log.CaughtUp(ctx), informers.Synced(ctx))
}

// health says how this pod fares.
type health struct {
	log     *queue.Log
	store   *cache.Store
	synced  atomic.Bool
	closing atomic.Bool // it answers what is under way and takes nothing new
	leads   atomic.Bool
}

// leading notes while work runs.
func (h *health) leading(work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		h.leads.Store(true)
		defer h.leads.Store(false)
		return work(ctx)
	}
}

// Ready reports whether this pod can answer reads.
func (h *health) Ready() bool {
	return h.synced.Load() && h.log.IsCaughtUp() && !h.closing.Load()
}

// Health says how this pod fares.
func (h *health) Health() api.Health {
	now := api.Health{Ready: h.Ready(), Leading: h.leads.Load()}
	switch {
	case h.closing.Load():
		now.Degraded = append(now.Degraded, "terminating: new commands are rejected")
	case !now.Ready:
		now.Degraded = append(now.Degraded, "starting: the log and the cluster are not read yet")
	}
	if age, ok := h.log.Lag(); !ok {
		now.Degraded = append(now.Degraded, fmt.Sprintf("NATS has not confirmed where the log ends for %.0f s: submit and stop answer 503, reads may be old", age.Seconds()))
	}
	if err := h.log.Blocked(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if err := h.log.Broken(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if err := h.log.CheckCapacity(); err != nil {
		now.Degraded = append(now.Degraded, err.Error())
	}
	if age, err := h.store.ClusterLag(); err != nil {
		now.Degraded = append(now.Degraded, fmt.Sprintf("the API server has not answered for %.0f s: tasks wait, reads may be old: %v", age.Seconds(), err))
	}
	if !now.Leading {
		now.Degraded = append(now.Degraded, "not leading: another pod applies commands, or none does yet")
	}
	return now
}
