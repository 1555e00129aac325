package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/api/exec"
	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/bucketprogress"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/logs"
	"k8s-cli/pkg/notify"
	"k8s-cli/pkg/release"
	"k8s-cli/pkg/session"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/submit"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/pkg/trace"
	"k8s-cli/pkg/ui"
)

// parts are the components of the server. They are built after the server has connected
// to its dependencies.
type parts struct {
	config config
	deps   *dependencies
	logger *slog.Logger

	store      *cache.Store
	sessions   *session.Manager // nil if the server has none
	informers  *cache.Informers
	optional   *cache.OptionalInformers
	archiver   *logs.Archiver
	controller *submit.Controller
	notifier   *notify.Notifier
	copies     *bucketprogress.Publisher
	health     *health
	server     *api.Server
	metrics    http.Handler // of all parts
}

// buildParts builds the parts without starting them. Each constructor takes the parts
// that it depends on.
func buildParts(ctx context.Context, c config, deps *dependencies, tracer *trace.Tracer, calls *clientMetrics, logger *slog.Logger) (*parts, error) {
	who, err := c.identity.authenticator(ctx, deps.k8s, logger)
	if err != nil {
		return nil, err
	}
	deps.authenticator.Set(who)
	p := &parts{config: c, deps: deps, logger: logger, store: newStore(c)}
	tailer := logs.New(deps.k8s, c.namespace, p.store, deps.archivedLogs, logger)
	if c.keepLogs > 0 {
		tailer.AwaitArchive()
	}
	p.archiver = logs.NewArchiver(tailer, p.store, int(c.keepLogs), deps.log.IsCaughtUp)
	p.controller = newController(c, deps, p.store, p.archiver, tracer, logger)
	p.copies = bucketprogress.New(deps.k8s, c.namespace, p.store, logger)
	p.informers, p.optional = watchCluster(c, deps, p.store, logger, p.controller.Enqueue, p.archiver.Enqueue, p.copies.Enqueue)
	p.health = newHealth(deps.log, p.store)
	counted := prometheus.NewRegistry()
	p.metrics = metricsHandler(counted)
	pages, err := c.pages()
	if err != nil {
		return nil, err
	}
	if p.notifier, err = p.newNotifier(); err != nil {
		return nil, err
	}
	p.sessions = newSessions(c, deps, p.store, who)
	pods, err := p.pods()
	if err != nil {
		return nil, err
	}
	p.server = p.newServer(tailer, pods, who, pages, tracer)
	return p, register(counted, deps.log.Metrics(), deps.events.Metrics(), p.informers.Metrics(), p.controller.Metrics(), p.notifier.Metrics(), p.health, calls, p.server.Metrics())
}

// newStore returns an empty store with the limits and claims of the configuration.
func newStore(c config) *cache.Store {
	store := cache.New()
	store.SetAdmissionLimits(c.admission.limits())
	store.RestrictClaims(c.policy.claims())
	return store
}

// newController returns the controller. The archiver notifies the controller of archived
// logs.
func newController(c config, deps *dependencies, store *cache.Store, archiver *logs.Archiver, tracer *trace.Tracer, logger *slog.Logger) *submit.Controller {
	controller := submit.New(deps.k8s, c.namespace, store, deps.log, deps.useKey(submit.Config{
		Workers:      c.workers,
		Limiter:      deps.limiter,
		KeepJobs:     max(c.keepJobs, 1),
		History:      c.history,
		HistoryTasks: c.historyTasks,
		Logger:       logger,
		Tracer:       tracer,

		AdoptLegacy:  c.adoptLegacy,
		LogsArchived: archived(c, archiver),
	}))
	archiver.OnArchived(controller.Enqueue)
	return controller
}

// archived returns the function that reports whether the logs of a task are archived. It
// returns nil if the server archives no logs.
func archived(c config, archiver *logs.Archiver) func(id string) bool {
	if c.keepLogs == 0 {
		return nil
	}
	return archiver.Archived
}

// watchCluster returns the informers that feed store. It registers the handlers of changes
// first, because Store.OnChange must be called before the store has objects.
func watchCluster(c config, deps *dependencies, store *cache.Store, logger *slog.Logger, changed ...func(task.Key)) (*cache.Informers, *cache.OptionalInformers) {
	for _, f := range changed {
		store.OnChange(f)
	}
	sources := cache.SourcesIn(c.namespace, deps.k8s)
	sources.Jobs, sources.Pods = deps.listwatch.Jobs(c.namespace), deps.listwatch.Pods(c.namespace)
	return store.Watch(sources), store.WatchNodesAndEvents(deps.k8s, c.namespace, logger)
}

// newServer returns the HTTP server of the API. who is nil if X-User is trusted from
// every address.
func (p *parts) newServer(tailer *logs.Tailer, pods exec.Pods, who *auth.Authenticator, pages *ui.Site, tracer *trace.Tracer) *api.Server {
	c := p.config
	settings := api.Config{
		DefaultImage: c.defaultImage,
		Limits:       policy.Limits{Nodes: c.maxNodes, CPUs: c.maxCPUs, Memory: int64(c.maxMemory), GPUs: c.maxGPUs},
		Policy:       c.policy.tasks,
		Sealer:       p.deps.sealer,
		Nodes:        p.store.Nodes(),
		Preview: func(s task.Submit) ([]json.RawMessage, []string, error) {
			return submit.Preview(p.store, s, c.namespace)
		},
		NotifySecret: p.notifySecret(),
		Login:        c.identity.login(),
		Version:      release.Read().Version,
		Hosts:        c.identity.allowedHosts(),
		Client:       c.identity.trustedProxies().Client,
		UserLimits:   c.perUser.limits(),
		Slots:        c.atOnce.limits(),
		Usage:        p.store,
		Pages:        pages,
		Sessions:     p.sessions,
		Pods:         pods,
		ExecLimits:   c.exec.limits,
		Logger:       p.logger,
		Trace:        tracer,
	}
	settings.Uploads, settings.Outputs = p.deps.fileSettings(c)
	if who != nil {
		settings.Auth = who
	}
	if c.adminListen == "" {
		settings.Metrics = p.metrics
	}
	viewer := status.NewViewer(p.deps.log, p.store, p.config.namespace)
	return api.New(p.deps.log, api.Readers{Viewer: viewer, Events: status.NewEvents(p.deps.events, p.store), Logs: tailer}, p.health, settings)
}
