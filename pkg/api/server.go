// Package api is the REST server: decode, call, encode. What a request means is
// decided elsewhere; here is how it looks on the wire.
package api

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
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
	Limits       policy.Limits // of one task
	Policy       policy.Tasks  // what tasks may name
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

	Sealer    Sealer       // nil means that tasks with secrets are not taken
	Nodes     NodeCapacity // nil means that it is never known what a node could hold
	Previewer Previewer

	Uploads Uploads

	CloseConnections bool // another server takes this one's place: no connection outlives its answer
}

// Readers are whom a server asks. They answer from memory and never call Kubernetes,
// but for the logs of pods. They wait, within bounds, only until this pod has folded
// what was stored before the question.
type Readers struct {
	Tasks   TaskReader
	Volumes VolumeReader
	Uploads UploadReader
	Owners  OwnerReader
	Events  Events
	Logs    Tailer
}

// A Server answers HTTP requests.
type Server struct {
	app            *fiber.App
	errors         *errorWriter
	slots          *slotPools
	metricsByRoute serverMetrics
	closing        context.Context //nolint:containedctx // ends the streams that are open
	close          context.CancelFunc
}

const (
	idleTimeout     = 2 * time.Minute  // of a connection between requests
	readTimeout     = 30 * time.Second // of a whole request
	shutdownTimeout = 5 * time.Second  // for requests under way
)

// New returns a server; it does nothing until Run.
func New(log Log, read Readers, health HealthChecker, c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	who := &callers{auth: c.Auth, owners: read.Owners, hosts: hostNames(c.Hosts)}
	s := &Server{errors: &errorWriter{callers: who, logger: c.Logger}, slots: newSlotPools(c.Slots)}
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
		ErrorHandler:                 s.errors.fail,
	})
	s.useMiddleware(who, health, c)
	s.metricsByRoute.measure(s.app, func() { s.addRoutes(log, read, health, who, c) })
	framing.Configure(s.app.Server())
	s.app.Server().ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) { s.errors.rejectUnread(s.app, ctx, err) }
	return s
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
