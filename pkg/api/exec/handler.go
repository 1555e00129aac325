// Package exec serves exec sessions in the pods of tasks over WebSockets. A session is a
// command with its streams, or one connection to a port. Package k8s-cli/pkg/exec defines the
// messages.
package exec

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task/problem"
)

// Pods opens sessions in the pods of tasks. Find returns the pod of a node, or an error of kind
// problem.Conflict if the node does not run. Ended waits until the pod or its task is over.
type Pods interface {
	Find(id string, node int) (exec.Target, error)
	Ended(ctx context.Context, t exec.Target)
	Exec(ctx context.Context, t exec.Target, c exec.Command, s exec.Streams) (exitCode int, err error)
	Forward(ctx context.Context, t exec.Target, port uint16, s exec.Streams) error
}

// Limits bound the time of one session. 0 means no limit.
type Limits struct {
	Idle  time.Duration // without a byte in either direction
	Total time.Duration
}

// A Caller is the sender of a request, as the server identified the sender.
type Caller struct {
	User string
	// Session returns a context that ends with parent, or with the session of the browser.
	Session func(parent context.Context) (context.Context, context.CancelFunc)
	// Check returns an error of kind problem.Unauthorized if the credentials of the request are no
	// longer valid.
	Check func(ctx context.Context) error
	// Record writes the line of the audit log.
	Record func(code int, verdict string, more ...slog.Attr)
}

// A Handler serves sessions.
type Handler struct {
	Pods   Pods // nil if the operator allows no sessions
	Owned  func(ctx context.Context, user, id string) error
	Slots  *slots.Pool
	Limits Limits
	// Identify returns the caller of an authenticated request for a session, or an error if a page
	// of another site sent the request.
	Identify func(c *fiber.Ctx, user, what string) (*Caller, error)
	Closing  context.Context //nolint:containedctx // ends all sessions

	open     openSessions
	farewell time.Duration // for the last messages of a session that the server ends; 0 means a second
}

var errOff = problem.New(problem.FeatureDisabled, "sessions in tasks are disabled; the administrator can set --allow-exec (value allowExec of the chart)")

// Exec serves GET /tasks/{id}/exec: a command in the container of a node.
func (h *Handler) Exec(c *fiber.Ctx, user string) error {
	return h.serve(c, user, "exec", func(c *fiber.Ctx) (work, error) {
		tty, err := params.Bool(c, "tty", false)
		if err != nil {
			return work{}, err
		}
		stdin, err := params.Bool(c, "stdin", false)
		if err != nil {
			return work{}, err
		}
		args, err := commandOf(c)
		command := exec.Command{Args: args, TTY: tty}
		return work{
			about:   []slog.Attr{slog.Any("argv", args), slog.Bool("tty", tty)},
			noInput: !stdin,
			do: func(ctx context.Context, t exec.Target, s exec.Streams) (exec.End, error) {
				if !stdin {
					s.Stdin = nil
				}
				code, err := h.Pods.Exec(ctx, t, command, s)
				return exec.End{ExitCode: &code}, err
			},
		}, err
	})
}

// PortForward serves GET /tasks/{id}/port-forward: one connection to a port of a node.
func (h *Handler) PortForward(c *fiber.Ctx, user string) error {
	return h.serve(c, user, "port-forward", func(c *fiber.Ctx) (work, error) {
		port, err := strconv.ParseUint(c.Query("port"), 10, 16)
		if err != nil || port == 0 {
			return work{}, problem.New(problem.Invalid, fmt.Sprintf("port: %q is not a port from 1 to 65535", c.Query("port")))
		}
		return work{
			about: []slog.Attr{slog.Uint64("port", port)},
			do: func(ctx context.Context, t exec.Target, s exec.Streams) (exec.End, error) {
				return exec.End{}, h.Pods.Forward(ctx, t, uint16(port), s)
			},
		}, nil
	})
}

func commandOf(c *fiber.Ctx) (args []string, err error) {
	for _, arg := range c.Context().QueryArgs().PeekMulti("command") {
		args = append(args, string(arg))
	}
	switch {
	case len(args) == 0 || args[0] == "":
		return nil, problem.New(problem.Invalid, "command: name a program, and repeat the parameter for each argument")
	case strings.ContainsRune(strings.Join(args, ""), 0):
		return nil, problem.New(problem.Invalid, "command: an argument contains a NUL byte")
	}
	return args, nil
}

// work is what a session does, as its request says.
type work struct {
	about   []slog.Attr // for the audit log
	noInput bool        // the server discards what the client sends
	do      func(ctx context.Context, t exec.Target, s exec.Streams) (exec.End, error)
}

// serve checks a request, and upgrades its connection. The session of another user, which the
// caller may not have, is not found, whether sessions are allowed or not.
func (h *Handler) serve(c *fiber.Ctx, user, what string, read func(*fiber.Ctx) (work, error)) error {
	caller, err := h.Identify(c, user, what)
	if err != nil {
		return err
	}
	s, err := h.prepare(c, caller, read)
	if err == nil {
		err = h.upgrade(c, s)
	}
	if err != nil && s != nil {
		s.slot.Release()
	}
	if err != nil {
		caller.Record(problem.Of(err).Code(), err.Error())
	}
	return err
}

// prepare returns the session of a request, which holds a slot.
func (h *Handler) prepare(c *fiber.Ctx, caller *Caller, read func(*fiber.Ctx) (work, error)) (*session, error) {
	id := c.Params("id")
	if err := h.Owned(c.UserContext(), caller.User, id); err != nil {
		return nil, err
	}
	if h.Pods == nil {
		return nil, errOff
	}
	w, err := read(c)
	if err != nil {
		return nil, err
	}
	node := 0
	if text := c.Query("node"); text != "" {
		if node, err = strconv.Atoi(text); err != nil || node < 0 {
			return nil, problem.New(problem.Invalid, fmt.Sprintf("node: %q is not the rank of a node", text))
		}
	}
	if err := checkUpgrade(c); err != nil {
		return nil, err
	}
	target, err := h.Pods.Find(id, node)
	if err != nil {
		return nil, err
	}
	slot, err := h.Slots.Take(h.Closing, caller.User)
	if err != nil {
		return nil, err
	}
	return &session{handler: h, caller: caller, target: target, work: w, slot: slot}, nil
}

// Wait waits until all sessions have ended after the end of Closing, at most for patience. There are
// no new sessions after that.
func (h *Handler) Wait(patience time.Duration) { h.open.wait(patience) }

// openSessions counts the open sessions.
type openSessions struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// begin reports whether a session may begin. Each session calls group.Done at its end.
func (o *openSessions) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.group.Add(1)
	}
	return !o.closed
}

func (o *openSessions) wait(patience time.Duration) {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		o.group.Wait()
	}()
	select {
	case <-over:
	case <-time.After(patience):
	}
}
