package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/api/openapi"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/ui"
)

// useMiddleware adds the middleware that every request passes before its route.
func (s *Server) useMiddleware(who *callers, health HealthChecker, c Config) {
	s.app.Use(s.metricsByRoute.observe, identify, private)
	if c.Trace != nil {
		s.app.Use(tracing(c.Trace, &s.metricsByRoute))
	}
	if c.CloseConnections {
		s.app.Use(closeConnection)
	}
	bodies := &bodyReceiver{closing: s.closing}
	s.app.Use(recoverPanic, closeRefusedUpgrade, bodies.receive, who.sameOrigin, exactPath)
	s.app.Use(compressed())
	s.app.Use([]string{"/tasks", "/volumes", "/events", "/uploads", "/groups", "/usage", "/summary", "/capacity", "/session"}, whenReady(health))
}

// compressed compresses responses whose body is in memory. The other bodies are streams, whose lines
// are sent as they come, and archives, which are compressed.
func compressed() fiber.Handler {
	compress := fasthttp.CompressHandlerBrotliLevel(func(*fasthttp.RequestCtx) {}, fasthttp.CompressBrotliDefaultCompression, fasthttp.CompressDefaultCompression)
	return func(c *fiber.Ctx) error {
		err := c.Next()
		if err == nil && !c.Response().IsBodyStream() {
			compress(c.Context())
		}
		return err
	}
}

// closeConnection closes the connection after the response.
func closeConnection(c *fiber.Ctx) error {
	c.Context().SetConnectionClose()
	return c.Next()
}

// addRoutes adds the routes. Each group of routes has a handler type of its own.
func (s *Server) addRoutes(log Log, read Readers, health HealthChecker, who *callers, c Config) {
	limits := submission.NewLimits(c.UserLimits, c.Usage)
	submitter := &submitter{
		log: log, limits: limits, taskLimits: c.Limits, policy: c.Policy, defaultImage: c.DefaultImage,
		uploads: c.Uploads, outputs: c.Outputs, sealer: c.Sealer, nodes: c.Nodes,
	}
	audit := &auditor{logger: c.Logger.With("logger", "audit")}

	s.addPages(c.Pages)
	s.app.Get("/healthz", alive)
	s.app.Get("/readyz", readiness(health))
	account := &accountHandler{callers: who, method: c.Login, taskLimits: c.Limits, limits: limits, logs: s.slots.logs, notifySecret: c.NotifySecret}
	s.app.Get("/auth", account.login)
	s.app.Get("/whoami", account.whoami)
	s.app.Get(callback.SecretPath, who.authenticated(audit.withAudit("read notify secret", account.showNotifySecret)))
	s.addSessions(who, audit)
	s.app.Get("/metrics", exposition(c.Metrics))
	documents := openapi.New(c.Version, c.Login)
	s.app.Get("/openapi.json", documents.Describe)
	s.app.Get(openapi.SchemaPath, documents.TaskSchema)
	s.app.Get("/docs", documents.Docs)
	s.app.Get("/docs/:file", openapi.File)

	tasks := &taskHandler{log: log, viewer: read.Viewer, callers: who, submitter: submitter}
	batches := &batchHandler{submitter: submitter, batches: s.slots.batches, bytes: s.slots.batchBytes, errors: s.errors, closing: s.closing}
	previews := &previewHandler{submitter: submitter, preview: c.Preview, slots: s.slots.previews, closing: s.closing}
	logs := &logHandler{
		tailer: read.Logs, callers: who,
		slots: s.slots.logs, open: &s.metricsByRoute.logs, closing: s.closing, logger: c.Logger,
	}
	events := &eventHandler{
		events: read.Events, viewer: read.Viewer, callers: who,
		slots: s.slots.events, open: &s.metricsByRoute.events, closing: s.closing, logger: c.Logger,
	}
	uploads := &uploadHandler{
		uploads: c.Uploads, log: log, viewer: read.Viewer, limits: limits,
		incoming: s.slots.uploads, sender: archive.Sender{Slots: s.slots.downloads, Closing: s.closing},
	}
	volumes := &volumeHandler{log: log, viewer: read.Viewer, callers: who}

	s.app.Post("/tasks/submit", who.authenticated(audit.withAudit("submit", tasks.submitTask)))
	s.app.Post(previewPath, who.authenticated(previews.previewTask))
	s.app.Post(batchPath, who.authenticatedStream(audit.withAudit("batch", batches.submitBatch)))
	s.app.Post("/tasks/stop", who.authenticated(audit.withAudit("stop all", tasks.stopTasks)))
	s.app.Post("/tasks/:id/stop", who.authenticated(audit.withAudit("stop", tasks.stopTask)))
	s.app.Get("/tasks", who.authenticated(tasks.listTasks))
	s.app.Get("/tasks/:id", who.authenticated(audit.withForeignReads("read", tasks.showTask)))
	s.app.Get("/tasks/:id/spec", who.authenticated(audit.withForeignReads("read spec", tasks.showSpec)))
	s.app.Get("/tasks/:id/top", who.authenticated(audit.withForeignReads("read top", tasks.showTop)))
	s.addExec(who, audit, c)
	s.app.Get("/tasks/:id/logs", who.authenticated(audit.withForeignReads("read logs", logs.taskLogs)))
	s.app.Get("/tasks/:id/events", who.authenticated(audit.withForeignReads("read events", events.taskEvents)))
	s.app.Get(filesPath, uploads.taskFile)
	s.addOutputs(log, who, audit, c, uploads)
	s.app.Get("/uploads", who.authenticated(uploads.uploadLimits))
	s.app.Get("/uploads/:sum", who.authenticated(uploads.getUpload))
	s.app.Put("/uploads/:sum", who.authenticatedStream(audit.withAudit("upload", uploads.putUpload)))
	s.app.Post("/volumes/create", who.authenticated(audit.withAudit("create volume", volumes.createVolume)))
	s.app.Get("/volumes", who.authenticated(volumes.listVolumes))
	s.app.Get("/volumes/:id", who.authenticated(volumes.showVolume))
	s.app.Get("/volumes/:id/events", who.authenticated(events.volumeEvents))
	s.app.Delete("/volumes/:id", who.authenticated(audit.withAudit("delete volume", volumes.deleteVolume)))
	s.app.Get("/events", who.authenticated(events.allEvents))
	groups := &groupHandler{viewer: read.Viewer, callers: who}
	s.app.Get("/groups", who.authenticated(groups.listGroups))
	s.app.Get("/usage", who.authenticated((&usageHandler{read.Viewer, who}).showUsage))
	s.app.Get("/groups/:group", who.authenticated(groups.showGroup))
	overviews := &overviewHandler{viewer: read.Viewer, callers: who}
	s.app.Get("/summary", who.authenticated(overviews.summary))
	s.app.Get("/capacity", who.authenticated(overviews.capacity))
}

// addOutputs adds the routes of the outputs of tasks, which share their slots with uploads.
func (s *Server) addOutputs(log Log, who *callers, audit *auditor, c Config, shared *uploadHandler) {
	h := &archive.OutputHandler{
		OutputConfig: c.Outputs, Log: log, Viewer: who.viewer, Incoming: shared.incoming, Sender: shared.sender, Receive: transferred,
		ReadAs: func(c *fiber.Ctx, user, id string) (status.Read, string) {
			return who.readAs(c, user, task.KindTask, id)
		},
	}
	s.app.Get("/tasks/:id/outputs/:rank", who.authenticated(audit.withForeignReads("read outputs", h.Get)))
	s.app.Put("/tasks/:id/outputs/:rank", h.Put)
}

// addSessions adds the routes of the sessions of browsers.
func (s *Server) addSessions(who *callers, audit *auditor) {
	sessions := who.sessions
	s.app.Get("/session", sessions.Show)
	s.app.Post("/session", audit.withLogin(func(c *fiber.Ctx) error {
		if err := receiveAll(c); err != nil {
			return err
		}
		return sessions.Begin(c)
	}))
	s.app.Delete("/session", who.authenticated(audit.withAudit("end session", func(c *fiber.Ctx, _ string) error {
		all, err := flag(c, "all")
		if err != nil {
			return err
		}
		return sessions.End(c, all)
	})))
	s.app.Get("/session/oidc/start", sessions.StartOIDC)
	s.app.Get("/session/oidc/callback", audit.withLogin(sessions.FinishOIDC))
}

// addPages adds the pages of the dashboard, and GET /, which leads browsers to the pages.
func (s *Server) addPages(site *ui.Site) {
	if site == nil {
		s.app.Get("/", service)
		return
	}
	pages := browser.Pages(site, func(c *fiber.Ctx, etag string) bool { return matches(c.Get(fiber.HeaderIfNoneMatch), etag) })
	s.app.Get("/", browser.Front(service))
	s.app.Get("/ui", pages)
	s.app.Get(ui.Root+"*", pages)
}
