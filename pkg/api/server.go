// Package api is the REST server. The package decodes requests, calls the other packages
// and encodes responses. Package api defines the wire format; other packages decide what a
// request does.
package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/api/exec"
	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/bounded"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/session"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/pkg/task/query"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/trace"
	"k8s-cli/pkg/ui"
)

// A Log appends commands. After Append returns, the command is stored at one position in
// the log, which is the same for every pod, and the result is the decision of the fold.
// CheckCapacity returns an error of kind problem.Unavailable if the log is too full for
// submissions, volumes and uploads.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	// results in the order of the commands, each with an error of its own
	AppendBatch(ctx context.Context, commands []task.Command) ([]task.Result, []error)
	// all commands in one entry
	AppendTogether(ctx context.Context, commands []task.Command) ([]task.Result, error)
	CheckCapacity() error
}

// A Tailer copies the log lines of a task to w until the task ends, w fails, or ctx is
// done. Lines returns lines of the log of one node by their numbers. Check returns an error of
// kind problem.Invalid if the task cannot satisfy the options.
type Tailer interface {
	Check(id string, o task.LogOptions) error
	Tail(ctx context.Context, id string, o task.LogOptions, w *bufio.Writer) error
	Lines(ctx context.Context, id string, o task.LogOptions, lines logpos.Range) (logpos.Part, error)
}

// Config holds the settings of a server.
type Config struct {
	DefaultImage string        // image of tasks that name none
	Limits       policy.Limits // limits of one task
	Policy       policy.Tasks  // what tasks may name
	Logger       *slog.Logger  // nil disables logging

	// Auth identifies the sender of a request. nil means that X-User is trusted, and that
	// every user may list the tasks of all users.
	Auth  Authenticator
	Login task.Login // authentication method of Auth

	// Client returns the address of the client, for limits by address: peer is the address of the
	// connection, and forwarded holds the values of X-Forwarded-For. nil means peer.
	Client func(peer netip.Addr, forwarded []string) netip.Addr

	Version string // of the build, for the description of the API

	// Hosts lists the host names under which browsers and proxies reach the server, besides
	// localhost. The server checks host names only if X-User is trusted.
	Hosts []string

	Metrics http.Handler // handler of GET /metrics; nil if the metrics have another address
	Pages   *ui.Site     // pages of the dashboard; nil if the server has none

	Sessions *session.Manager // sessions of browsers; nil if the server has none

	UserLimits task.UserLimits        // limits of one user
	Usage      submission.UsageReader // usage of users; may be nil if there are no user limits
	Slots      SlotLimits             // limits of concurrent operations

	Trace *trace.Tracer // nil disables tracing

	Sealer *seal.Sealer        // nil means that tasks with secrets are rejected
	Nodes  submission.Machines // nil means that the machines are unknown

	// Preview returns the Kubernetes objects of a submission, and warnings about what would prevent
	// their creation.
	Preview func(s task.Submit) (objects []json.RawMessage, warnings []string, err error)

	Uploads Uploads
	Outputs archive.OutputConfig

	// NotifySecret returns the secret that signs the notifications of a user; nil means that
	// the server sends none.
	NotifySecret func(user string) string

	Pods       exec.Pods   // of tasks, for sessions; nil disables sessions
	ExecLimits exec.Limits // of one session

	// close each connection after its response, because another server takes over the
	// listener
	CloseConnections bool
}

// Readers answer the reads of a server. Only Logs calls Kubernetes.
type Readers struct {
	Viewer *status.Viewer
	Events Events
	Logs   Tailer
}

// A Server answers HTTP requests.
type Server struct {
	app            *fiber.App
	errors         *errorWriter
	slots          *slotPools
	metricsByRoute serverMetrics
	exec           *exec.Handler
	closing        context.Context //nolint:containedctx // ends the streams that are open
	close          context.CancelFunc
	patience       time.Duration // for requests in progress, after the end of ctx
}

const (
	idleTimeout     = 2 * time.Minute  // of a connection between two requests
	readTimeout     = 30 * time.Second // of a whole request
	shutdownTimeout = 5 * time.Second  // for requests in progress
)

// New returns a server. The server does nothing until Run.
func New(log Log, read Readers, health HealthChecker, c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	who := &callers{auth: c.Auth, viewer: read.Viewer, queries: bounded.NewMap[string, query.Tasks](maxQueryBytes), hosts: hostNames(c.Hosts), client: c.Client}
	if c.Sessions != nil {
		who.sessions = &browser.Sessions{Manager: c.Sessions, Identify: who.identity, Peer: who.peer, Login: c.Login, Exec: c.Pods != nil}
	}
	s := &Server{errors: &errorWriter{callers: who, logger: c.Logger}, slots: newSlotPools(c.Slots), patience: shutdownTimeout}
	s.metricsByRoute.slots = s.slots
	s.closing, s.close = context.WithCancel(context.Background())
	s.app = fiber.New(fiber.Config{
		AppName:               "k8s-cli-api",
		DisableStartupMessage: true,
		Immutable:             true, // strings of a request are used after its handler returns
		CaseSensitive:         true,
		BodyLimit:             taskfile.MaxSize,
		StreamRequestBody:     true, // so that the server can reject a larger body with an error message
		// Otherwise fasthttp would store multipart forms of any size before the
		// authentication.
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

// Run serves requests on listener until ctx ends, and then waits for the requests in
// progress.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.close()
		err := s.app.ShutdownWithTimeout(s.patience)
		_ = listener.Close() // ShutdownWithTimeout does not close a listener that Listener has not received yet
		stopped <- err
	})
	err := s.app.Listener(framing.NewListener(listener))
	if !stop() {
		err = <-stopped
		s.exec.Wait(s.patience)
	}
	if err != nil {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return ctx.Err()
}
