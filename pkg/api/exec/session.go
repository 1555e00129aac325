package exec

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task/problem"
)

const (
	checkPeriod = 30 * time.Second // between two checks of the credentials
	linger      = 5 * time.Second  // for the client to read the last messages of a session
)

var (
	errGone   = errors.New("the client disconnected")
	errClosed = errors.New("the client closed the session")
	errOver   = errors.New("the node of the task has ended")
	errClose  = errors.New("the server is stopping, or the user has logged out")
)

// A session is one WebSocket. A session holds one message of each direction, so a client or a
// command that reads nothing makes the other side wait.
type session struct {
	handler *Handler
	caller  *Caller
	target  exec.Target
	work    work
	slot    *slots.Slot
	ctx     context.Context //nolint:containedctx // ends with the server and with the session of the browser

	conn    *exec.Conn
	cancel  context.CancelCauseFunc
	idle    *time.Timer // nil without a limit
	in, out atomic.Int64
}

// run serves the session until its end, and writes the line of the audit log.
func (s *session) run(ws *websocket.Conn) {
	began := time.Now()
	s.conn = exec.NewConn(ws, ws)
	parent, cancel := context.WithCancelCause(s.ctx)
	s.cancel = cancel
	defer s.limit()()
	ctx, stop := context.WithCancel(parent)
	defer stop()
	stdin, toStdin := io.Pipe()
	sizes := make(chan exec.Size, 1)
	received := make(chan struct{})
	go func() {
		defer close(received)
		s.receive(toStdin, sizes)
	}()
	go s.watch(ctx)
	abort := context.AfterFunc(ctx, func() { s.conn.Limit(cmp.Or(s.handler.farewell, time.Second)) })
	if s.work.noInput {
		_ = stdin.CloseWithError(io.ErrClosedPipe)
	}
	end, err := s.work.do(ctx, s.target, exec.Streams{
		Stdin: stdin, Stdout: s.counted(exec.Stdout), Stderr: s.counted(exec.Stderr), Sizes: sizes,
	})
	_ = stdin.CloseWithError(io.ErrClosedPipe) // the receiver discards the rest
	end = s.end(parent, end, err)
	_ = s.conn.SendJSON(exec.Status, end)
	s.conn.SayGoodbye(websocket.CloseNormalClosure)
	if abort() {
		s.conn.Limit(linger) // data that the client still sends must not make the kernel discard the last messages
	}
	<-received
	stop()
	_ = ws.Close()
	s.record(end, time.Since(began))
}

// limit starts the timers of the session. The caller calls stop at the end.
func (s *session) limit() (stop func()) {
	l := s.handler.Limits
	var timers []*time.Timer
	if l.Idle > 0 {
		s.idle = time.AfterFunc(l.Idle, func() { s.cancel(fmt.Errorf("the session was idle for %s (--exec-idle-timeout)", l.Idle)) })
		timers = append(timers, s.idle)
	}
	if l.Total > 0 {
		timers = append(timers, time.AfterFunc(l.Total, func() { s.cancel(fmt.Errorf("the session lasted %s (--exec-timeout)", l.Total)) }))
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		s.cancel(nil)
	}
}

// watch ends the session when the client is gone, when the task is over, or when the credentials
// are no longer valid. watch returns when ctx ends.
func (s *session) watch(ctx context.Context) {
	go func() {
		s.handler.Pods.Ended(ctx, s.target)
		s.cancel(errOver)
	}()
	go func() {
		if err := s.conn.KeepAlive(ctx.Done()); err != nil {
			s.cancel(errGone)
		}
	}()
	ticker := time.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := s.caller.Check(ctx); errors.Is(err, problem.Unauthorized) || errors.Is(err, problem.Forbidden) {
				s.cancel(fmt.Errorf("the credentials of the user are no longer valid: %w", err))
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive passes on the messages of the client until the connection ends.
func (s *session) receive(stdin *io.PipeWriter, sizes chan exec.Size) {
	for {
		ch, data, err := s.conn.Receive()
		if err == nil {
			err = s.accept(ch, data, stdin, sizes)
		}
		if err != nil {
			s.cancel(gone(err))
			_ = stdin.CloseWithError(errGone)
			return
		}
	}
}

// gone returns why a session ended whose client is gone.
func gone(err error) error {
	if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		return errClosed
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

var errMessage = errors.New("the client sent a message that is not of the protocol " + exec.Protocol)

// accept handles one message of the client.
func (s *session) accept(ch byte, data []byte, stdin *io.PipeWriter, sizes chan exec.Size) error {
	switch ch {
	case exec.Stdin:
		s.progress(&s.in, len(data))
		_, _ = stdin.Write(data) // fails if the command has ended
	case exec.Resize:
		var size exec.Size
		if err := json.Unmarshal(data, &size); err != nil {
			return errMessage
		}
		select { // only the latest size counts
		case <-sizes:
		default:
		}
		sizes <- size
	case exec.Close:
		if len(data) != 1 || data[0] != exec.Stdin {
			return errMessage
		}
		_ = stdin.Close()
	default:
		return errMessage
	}
	return nil
}

// progress counts bytes, and restarts the limit of the idle time.
func (s *session) progress(count *atomic.Int64, n int) {
	count.Add(int64(n))
	if s.idle != nil {
		s.idle.Reset(s.handler.Limits.Idle)
	}
}

// counted returns a writer to a channel that counts the bytes.
func (s *session) counted(ch byte) io.Writer { return countedWriter{s, s.conn.Writer(ch)} }

type countedWriter struct {
	session *session
	w       io.Writer
}

func (c countedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.session.progress(&c.session.out, n)
	if err != nil {
		c.session.cancel(errGone)
	}
	return n, err
}

// end returns how the session ended, for the client.
func (s *session) end(ctx context.Context, end exec.End, err error) exec.End {
	switch cause := context.Cause(ctx); {
	case err == nil && end.ExitCode != nil:
		return end // the command ended before the server could end it
	case errors.Is(cause, context.Canceled):
		return exec.End{Error: errClose.Error()}
	case cause != nil:
		return exec.End{Error: cause.Error()}
	case err != nil:
		return exec.End{Error: strings.ReplaceAll(err.Error(), "Internal error occurred: ", "")} // each component of Kubernetes adds the words
	}
	return end
}

// record writes the line of the audit log.
func (s *session) record(end exec.End, took time.Duration) {
	verdict := end.Error
	switch {
	case verdict != "":
	case end.ExitCode != nil:
		verdict = fmt.Sprintf("exit code %d", *end.ExitCode)
	default:
		verdict = "closed"
	}
	about := append([]slog.Attr{slog.Int("node", s.target.Node), slog.String("pod", s.target.Pod)}, s.work.about...)
	s.caller.Record(http.StatusSwitchingProtocols, verdict, append(about,
		slog.Int64("bytes_in", s.in.Load()), slog.Int64("bytes_out", s.out.Load()), slog.Float64("seconds", took.Seconds()))...)
}
