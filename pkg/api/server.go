// Package api is the REST server: decode, call, encode. What a request means is
// decided elsewhere; here is how it looks on the wire.
package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/trace"
)

// A Log takes commands. Once Append returns, the command is stored, every pod
// will see it at the same place in the order, and the verdict is what that
// order made of it.
// Room says, by an error of kind task.ErrUnavailable, that what can wait has to.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	AppendBatch(ctx context.Context, commands []task.Command) ([]task.Result, []error) // in their order, each with its own outcome
	CheckCapacity() error
}

// A Viewer answers from memory and never calls Kubernetes. It waits, within
// bounds, only until this pod has folded what was stored before the question.
type Viewer interface {
	Task(ctx context.Context, user, id string) (task.Answer, error)                    // of kind task.ErrNotFound if user has no such task
	Spec(ctx context.Context, user, id string) (task.Answer, error)                    // so too
	Tasks(ctx context.Context, q task.Query, known func(etag string) bool) task.Answer // newest first; without a body if the ETag is known
	Volume(ctx context.Context, user, id string) (task.Answer, error)
	Volumes(ctx context.Context, q task.Query) task.Answer
	PendingMounts(ctx context.Context, volume string) (ids []string) // of tasks that will mount it, of which the log does not say so yet
	Owner(ctx context.Context, k task.Key) (user string, ok bool)    // of a task or volume

	Upload(ctx context.Context, user, sum string) (task.UploadRecord, error)
	TaskUpload(ctx context.Context, id, sum string) (task.UploadRecord, error) // of kind task.ErrNotFound if the task does not need it, or is over
}

// A Tailer copies the log lines of a task to w until the task ends, w fails, or
// ctx is done. Check says beforehand whether the task has what is asked for; the
// error is of kind task.ErrInvalid.
type Tailer interface {
	Check(id string, o task.LogOptions) error
	Tail(ctx context.Context, id string, o task.LogOptions, w *bufio.Writer) error
}

// Config holds the settings of a server.
type Config struct {
	DefaultImage string        // of tasks that name none
	Limits       task.Limits   // of one task
	Policy       task.Policy   // what tasks may name
	Health       func() Health // how this pod fares
	Ready        func() bool   // whether it can answer reads, as Health says at more length
	Logger       *slog.Logger  // nil means silence

	// Auth says who asks. nil means that X-User is believed, and that everybody
	// may ask for all users' tasks.
	Auth  Authenticator
	Login task.Login // how it says so

	// Hosts are the host names under which browsers and proxies reach the server,
	// besides localhost. They count only where X-User is believed.
	Hosts []string

	Metrics http.Handler // of GET /metrics; nil if they are to be had elsewhere

	UserLimits task.UserLimits // of one user
	Usage      UsageReader     // what users have; it may be nil if nothing is limited
	Slots      SlotLimits      // of users in what a server does at once

	Trace *trace.Tracer // nil if nobody wants to know

	// Seal returns a submission without the values of its secrets, for the log;
	// nil means that tasks with secrets are not taken.
	Seal func(task.Submit) (task.Submit, error)

	// CanHold reports whether a node of the cluster could hold one node of a task
	// if nothing else ran there; known is false while that cannot be told. nil
	// means that it never can.
	CanHold func(task.Resources) (can, known bool)

	// Preview returns the objects of Kubernetes that a submission would have, and
	// what would keep it from having them.
	Preview func(task.Submit) (objects []json.RawMessage, warnings []string, err error)

	Uploads Uploads

	CloseConnections bool // another server takes this one's place: no connection outlives its answer
}

// A Server answers HTTP requests.
type Server struct {
	app            *fiber.App
	log            Log
	viewer         Viewer
	events         Events
	tailer         Tailer
	config         Config
	limits         *limits
	hosts          map[string]bool // of Config.Hosts
	metricsByRoute serverMetrics
	audit          *slog.Logger
	closing        context.Context // ends the streams that are open
	close          context.CancelFunc

	slots *slotPools
}

const (
	idleTimeout     = 2 * time.Minute  // of a connection between requests
	readTimeout     = 30 * time.Second // of a whole request
	shutdownTimeout = 5 * time.Second  // for requests under way
)

// New returns a server; it does nothing until Run.
func New(log Log, viewer Viewer, events Events, tailer Tailer, c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		log: log, viewer: viewer, events: events, tailer: tailer, config: c,
		limits: newLimits(c.UserLimits, c.Usage),
		hosts:  hostNames(c.Hosts),
		audit:  c.Logger.With("logger", "audit"),
		slots:  newSlotPools(c.Slots),
	}
	s.metricsByRoute.slots = s.slots
	s.closing, s.close = context.WithCancel(context.Background())
	s.app = fiber.New(fiber.Config{
		AppName:               "k8s-cli-api",
		DisableStartupMessage: true,
		Immutable:             true, // strings of a request outlive its handler here
		CaseSensitive:         true,
		BodyLimit:             taskfile.MaxSize,
		StreamRequestBody:     true, // so that a larger body can be refused in words
		// Otherwise fasthttp would keep forms of any size, before anybody is known.
		DisablePreParseMultipartForm: true,
		ReadBufferSize:               framing.HeadLimit,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  idleTimeout,
		ErrorHandler:                 s.fail,
	})
	s.routes()
	framing.Configure(s.app.Server())
	s.app.Server().ErrorHandler = s.rejectUnread
	return s
}

// closeConnection ends a connection with its answer.
func closeConnection(c *fiber.Ctx) error {
	c.Context().SetConnectionClose()
	return c.Next()
}

func (s *Server) routes() {
	s.app.Use(s.observe, s.identify, private)
	if s.config.Trace != nil {
		s.app.Use(s.withTrace)
	}
	if s.config.CloseConnections {
		s.app.Use(closeConnection)
	}
	s.app.Use(s.recover, s.receive, s.sameOrigin, s.exactPath)
	s.app.Use(compress.New(compress.Config{Next: isStream}))
	s.app.Use([]string{"/tasks", "/volumes", "/events", "/uploads"}, s.whenReady)
	s.withMetrics(s.handlers)
}

// handlers are the routes.
func (s *Server) handlers() {
	s.app.Get("/", s.service)
	s.app.Get("/healthz", s.alive)
	s.app.Get("/readyz", s.ready)
	s.app.Get("/auth", s.login)
	s.app.Get("/whoami", s.whoami)
	s.app.Get("/metrics", s.metrics)
	s.app.Get("/openapi.json", s.description)
	s.app.Get("/docs", s.docs)

	s.app.Post("/tasks/submit", s.authenticated(s.withAudit("submit", s.submitTask)))
	s.app.Post(previewPath, s.authenticated(s.previewTask))
	s.app.Post(batchPath, s.authenticated(s.withAudit("batch", s.submitBatch)))
	s.app.Post("/tasks/stop", s.authenticated(s.withAudit("stop all", s.stopTasks)))
	s.app.Post("/tasks/:id/stop", s.authenticated(s.withAudit("stop", s.stopTask)))
	s.app.Get("/tasks", s.authenticated(s.listTasks))
	s.app.Get("/tasks/:id", s.authenticated(s.showTask))
	s.app.Get("/tasks/:id/spec", s.authenticated(s.showSpec))
	s.app.Get("/tasks/:id/logs", s.authenticated(s.taskLogs))
	s.app.Get("/tasks/:id/events", s.authenticated(s.taskEvents))
	s.app.Get(filesPath, s.taskFile)
	s.app.Get("/uploads", s.authenticated(s.uploadLimits))
	s.app.Get("/uploads/:sum", s.authenticated(s.getUpload))
	s.app.Put("/uploads/:sum", s.authenticated(s.withAudit("upload", s.putUpload)))
	s.app.Post("/volumes/create", s.authenticated(s.withAudit("create volume", s.createVolume)))
	s.app.Get("/volumes", s.authenticated(s.listVolumes))
	s.app.Get("/volumes/:id", s.authenticated(s.showVolume))
	s.app.Get("/volumes/:id/events", s.authenticated(s.volumeEvents))
	s.app.Delete("/volumes/:id", s.authenticated(s.withAudit("delete volume", s.deleteVolume)))
	s.app.Get("/events", s.authenticated(s.allEvents))
}

// Run answers requests on listener until ctx ends, then finishes those that
// are under way.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.close()
		err := s.app.ShutdownWithTimeout(shutdownTimeout)
		_ = listener.Close() // which the app does not do if it has not begun with it yet
		stopped <- err
	})
	err := s.app.Listener(framing.NewListener(listener))
	if !stop() {
		err = <-stopped
	}
	if err != nil {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return ctx.Err()
}
