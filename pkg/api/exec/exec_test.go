package exec

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gorilla/websocket"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A fake has one pod, whose commands are functions. It records the lines of the audit log.
type fake struct {
	exec  func(ctx context.Context, c exec.Command, s exec.Streams) (int, error)
	ended chan struct{} // closed when the task ends
	check error
	found func() // called before a session gets its pod; nil does nothing

	farewell time.Duration

	mu    sync.Mutex
	lines []string
}

func (f *fake) Find(id string, node int) (exec.Target, error) {
	if node > 0 {
		return exec.Target{}, problem.New(problem.Conflict, "the node does not run")
	}
	if f.found != nil {
		f.found()
	}
	return exec.Target{Task: id, Pod: "pod"}, nil
}

func (f *fake) Ended(ctx context.Context, _ exec.Target) {
	select {
	case <-f.ended:
	case <-ctx.Done():
	}
}

func (f *fake) Exec(ctx context.Context, _ exec.Target, c exec.Command, s exec.Streams) (int, error) {
	return f.exec(ctx, c, s)
}

func (f *fake) Forward(ctx context.Context, _ exec.Target, _ uint16, s exec.Streams) error {
	_, err := f.exec(ctx, exec.Command{}, s)
	return err
}

func (f *fake) record(code int, verdict string, more ...slog.Attr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := fmt.Sprintf("%d %s", code, verdict)
	for _, a := range more {
		if a.Key != "seconds" {
			line += " " + a.String()
		}
	}
	f.lines = append(f.lines, line)
}

// serve starts a server with the fake, and returns a client and the address. The function end
// stops the server and returns the audit log.
func (f *fake) serve(t *testing.T, l Limits) (c *client.Client, address string, end func() []string) {
	t.Helper()
	if f.ended == nil {
		f.ended = make(chan struct{})
	}
	closing, cancel := context.WithCancel(context.Background())
	h := &Handler{
		Pods: f, Limits: l, Closing: closing, farewell: f.farewell,
		Slots: slots.NewPool(slots.Kind{Name: "sessions", Units: "open sessions"}, slots.Limit{Total: 8, PerUser: 2}),
		Owned: func(_ context.Context, user, id string) error {
			if user != "ann" {
				return task.ErrNoTask(id)
			}
			return nil
		},
		Identify: func(_ *fiber.Ctx, user, _ string) (*Caller, error) {
			return &Caller{User: user, Record: f.record, Session: context.WithCancel, Check: func(context.Context) error { return f.check }}, nil
		},
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, ErrorHandler: func(c *fiber.Ctx, err error) error {
		c.Context().SetConnectionClose() // so that Shutdown does not wait for it
		return c.Status(statusOf(err)).JSON(task.Detail{Detail: err.Error()})
	}})
	app.Server().KeepHijackedConns = true
	app.Get("/tasks/:id/exec", func(c *fiber.Ctx) error { return h.Exec(c, c.Get("X-User")) })
	app.Get("/tasks/:id/port-forward", func(c *fiber.Ctx) error { return h.PortForward(c, c.Get("X-User")) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = app.Listener(framing.NewListener(listener)) }()
	end = sync.OnceValue(func() []string {
		cancel()
		h.Wait(time.Hour)
		_ = app.Shutdown()
		return f.lines
	})
	t.Cleanup(func() { end() })
	return client.New("http://"+listener.Addr().String(), "ann"), listener.Addr().String(), end
}

func statusOf(err error) int {
	for code, kind := range map[int]error{404: problem.NotFound, 409: problem.Conflict, 422: problem.Invalid, 429: problem.LimitReached, 400: problem.Malformed} {
		if errors.Is(err, kind) {
			return code
		}
	}
	return 426
}

func TestCommandGetsItsStreams(t *testing.T) {
	t.Parallel()
	f := &fake{exec: func(_ context.Context, c exec.Command, s exec.Streams) (int, error) {
		fmt.Fprintf(s.Stderr, "%q", c.Args)
		_, err := io.Copy(s.Stdout, s.Stdin) // ends when the client closes the channel
		return 7, err
	}}
	c, _, end := f.serve(t, Limits{})
	sent := make([]byte, 5*exec.MaxData+1)
	_, _ = rand.Read(sent)
	var out, errOut bytes.Buffer
	code, err := c.Exec(t.Context(), "lex9x817", client.ExecOptions{Command: []string{"cat", "a b&c"}, Stdin: bytes.NewReader(sent), Stdout: &out, Stderr: &errOut})
	if err != nil || code != 7 || !bytes.Equal(out.Bytes(), sent) || errOut.String() != `["cat" "a b&c"]` {
		t.Errorf("code %d, %v, %d bytes, %s", code, err, out.Len(), &errOut)
	}
	want := fmt.Sprintf("101 exit code 7 node=0 pod=pod argv=[cat a b&c] tty=false bytes_in=%d bytes_out=%d", len(sent), len(sent)+errOut.Len())
	if lines := end(); len(lines) != 1 || lines[0] != want {
		t.Errorf("audit log %q, want %q", lines, want)
	}
}

// TestSessionsEnd checks that each limit and each event ends a session, and what the client and
// the audit log learn.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context, _ exec.Command, s exec.Streams) (int, error) {
		fmt.Fprintln(s.Stdout, "begun")
		<-ctx.Done()
		return 0, ctx.Err()
	}
	for name, tt := range map[string]struct {
		limits Limits
		act    func(f *fake, end func() []string)
		want   string
	}{
		"idle":     {Limits{Idle: 50 * time.Millisecond}, nil, "the session was idle for 50ms (--exec-idle-timeout)"},
		"total":    {Limits{Total: 50 * time.Millisecond}, nil, "the session lasted 50ms (--exec-timeout)"},
		"task":     {Limits{}, func(f *fake, _ func() []string) { close(f.ended) }, "the node of the task has ended"},
		"shutdown": {Limits{}, func(_ *fake, end func() []string) { go end() }, "the server is stopping, or the user has logged out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{exec: wait, farewell: time.Hour}
			c, _, end := f.serve(t, tt.limits)
			begun := writerFunc(func([]byte) {
				if tt.act != nil {
					tt.act(f, end)
				}
			})
			_, err := c.Exec(t.Context(), "lex9x817", client.ExecOptions{Command: []string{"sleep"}, Stdout: begun})
			if !errors.Is(err, client.ErrBrokenExec) || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if lines := end(); len(lines) != 1 || !strings.HasPrefix(lines[0], "101 "+tt.want) {
				t.Errorf("audit log %q", lines)
			}
		})
	}
}

// TestErrorsOfKubernetesAppearOnce checks that the client gets the error of the container runtime
// without the words that each component of Kubernetes adds in front.
func TestErrorsOfKubernetesAppearOnce(t *testing.T) {
	t.Parallel()
	f := &fake{exec: func(context.Context, exec.Command, exec.Streams) (int, error) {
		return 0, errors.New("Internal error occurred: Internal error occurred: cannot exec in a stopped container")
	}}
	c, _, end := f.serve(t, Limits{})
	_, err := c.Exec(t.Context(), "lex9x817", client.ExecOptions{Command: []string{"true"}})
	if !errors.Is(err, client.ErrBrokenExec) || !strings.HasSuffix(err.Error(), ": cannot exec in a stopped container") || strings.Contains(err.Error(), "Internal") {
		t.Errorf("%v", err)
	}
	end()
}

type writerFunc func([]byte)

func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }

// TestSlowClientsMakeCommandsWait checks that the server holds no output for a client that reads
// nothing, and that the command ends when such a client leaves.
func TestSlowClientsMakeCommandsWait(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	f := &fake{exec: func(ctx context.Context, _ exec.Command, s exec.Streams) (int, error) {
		n, chunk := 0, make([]byte, 64<<10)
		for range 10_000 { // far more than the buffers of the kernel
			m, err := s.Stdout.Write(chunk)
			if n += m; err != nil {
				written <- n
				return 0, err
			}
		}
		written <- n
		return 0, nil
	}}
	_, address, end := f.serve(t, Limits{Idle: 500 * time.Millisecond})
	ws := dial(t, address, "/tasks/lex9x817/exec?command=yes", nil)
	defer func() { _ = ws.Close() }()
	if n := <-written; n > 100<<20 {
		t.Errorf("the command wrote %d bytes to a client that reads nothing", n)
	}
	if lines := end(); len(lines) != 1 || !strings.Contains(lines[0], "idle") {
		t.Errorf("audit log %q", lines)
	}
}

func dial(t *testing.T, address, path string, header http.Header) *websocket.Conn {
	t.Helper()
	if header == nil {
		header = http.Header{}
	}
	header.Set("X-User", "ann")
	dialer := websocket.Dialer{Subprotocols: []string{exec.Protocol}}
	ws, _, err := dialer.DialContext(t.Context(), "ws://"+address+path, header)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// TestInvalidMessagesEndSessions checks that the server accepts only messages of the protocol.
func TestInvalidMessagesEndSessions(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]struct {
		kind int
		data []byte
	}{
		"text":            {websocket.TextMessage, []byte("\x00hello")},
		"empty":           {websocket.BinaryMessage, nil},
		"too long":        {websocket.BinaryMessage, make([]byte, exec.MaxData+2)},
		"unknown channel": {websocket.BinaryMessage, []byte{9, 1}},
		"output":          {websocket.BinaryMessage, []byte{exec.Stdout, 1}},
		"size":            {websocket.BinaryMessage, []byte("\x04{")},
		"close of stdout": {websocket.BinaryMessage, []byte{exec.Close, exec.Stdout}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{exec: func(ctx context.Context, _ exec.Command, s exec.Streams) (int, error) {
				_, err := io.Copy(io.Discard, s.Stdin)
				return 0, err
			}}
			_, address, end := f.serve(t, Limits{})
			ws := dial(t, address, "/tasks/lex9x817/exec?command=cat&stdin=true", nil)
			defer func() { _ = ws.Close() }()
			if err := ws.WriteMessage(message.kind, message.data); err != nil {
				t.Fatal(err)
			}
			for {
				if _, _, err := ws.ReadMessage(); err != nil {
					break
				}
			}
			_, _ = io.Copy(io.Discard, ws.NetConn()) // the server closes the connection after the session has ended
			if lines := end(); len(lines) != 1 || !strings.HasPrefix(lines[0], "101 the client disconnected") || !strings.Contains(lines[0], "bytes_in=0") {
				t.Errorf("audit log %q", lines)
			}
		})
	}
}

func TestRejectedSessions(t *testing.T) {
	t.Parallel()
	f := &fake{exec: func(context.Context, exec.Command, exec.Streams) (int, error) {
		t.Error("a refused session ran")
		return 0, nil
	}}
	_, address, end := f.serve(t, Limits{})
	upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + exec.Protocol + "\r\n"
	const command = "GET /tasks/lex9x817/exec?command=ls"
	for _, tt := range []struct{ name, line, header, want string }{
		{"another user", command, "X-User: bob\r\n" + upgrade, "404"},
		{"no upgrade", command, "X-User: ann\r\n", "426"},
		{"HTTP/1.0", command + " HTTP/1.0", "X-User: ann\r\n" + upgrade, "426"},
		{"old version", command, "X-User: ann\r\n" + strings.Replace(upgrade, "13", "8", 1), "426"},
		{"other protocol", command, "X-User: ann\r\n" + strings.Replace(upgrade, exec.Protocol, "v5.channel.k8s.io", 1), "426"},
		{"short key", command, "X-User: ann\r\n" + strings.Replace(upgrade, "AAAA", "", 1), "400"},
		{"two keys", command, "X-User: ann\r\n" + upgrade + "Sec-WebSocket-Key: BAAAAAAAAAAAAAAAAAAAAA==\r\n", "400"},
		{"body", command, "X-User: ann\r\nContent-Length: 3\r\n" + upgrade, "400"},
		{"no command", "GET /tasks/lex9x817/exec", "X-User: ann\r\n" + upgrade, "422"},
		{"node", command + "&node=x", "X-User: ann\r\n" + upgrade, "422"},
		{"node that does not run", command + "&node=1", "X-User: ann\r\n" + upgrade, "409"},
		{"port 0", "GET /tasks/lex9x817/port-forward?port=0", "X-User: ann\r\n" + upgrade, "422"},
		{"port", "GET /tasks/lex9x817/port-forward?port=65536", "X-User: ann\r\n" + upgrade, "422"},
	} {
		line := tt.line
		if !strings.Contains(line, " HTTP/") {
			line += " HTTP/1.1"
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: localhost\r\n%s\r\nabc", line, tt.header)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		_ = conn.Close()
		if err != nil || answer.Status[:3] != tt.want {
			t.Errorf("%s: want %s, got %+v, %v", tt.name, tt.want, answer, err)
		}
	}
	if lines := end(); len(lines) == 0 {
		t.Error("the audit log has no lines")
	}
}

// A client that resets its connection during the handshake frees its slot, and does not keep the
// server from stopping.
func TestAbandonedHandshakesReleaseTheirSlots(t *testing.T) {
	t.Parallel()
	sent, reset := make(chan net.Conn), make(chan struct{})
	f := &fake{
		exec: func(_ context.Context, _ exec.Command, s exec.Streams) (int, error) {
			_, err := io.Copy(s.Stdout, s.Stdin)
			return 0, err
		},
		found: func() {
			if conn, ok := (<-sent).(*net.TCPConn); ok {
				_ = conn.SetLinger(0) // so that Close sends RST
				_ = conn.Close()
			}
			reset <- struct{}{}
		},
	}
	_, address, end := f.serve(t, Limits{})
	for range 3 { // one more than the user may have at once
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /tasks/lex9x817/port-forward?port=80 HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", exec.Protocol)
		sent <- conn
		<-reset
	}
	go func() {
		sent <- nil // for the client that stays
		<-reset
	}()
	dialer := websocket.Dialer{Subprotocols: []string{exec.Protocol}}
	for {
		ws, response, err := dialer.DialContext(t.Context(), "ws://"+address+"/tasks/lex9x817/port-forward?port=80", http.Header{"X-User": {"ann"}})
		if err == nil {
			_ = ws.Close()
			break
		}
		if response == nil || response.StatusCode != http.StatusTooManyRequests { // until the server has seen the reset
			t.Fatalf("after the resets: %v", err)
		}
	}
	end()
}

// TestSessionsOfAUserAreBounded checks the limit of open sessions, and that the end of a session
// makes room.
func TestSessionsOfAUserAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{exec: func(_ context.Context, _ exec.Command, s exec.Streams) (int, error) {
		_, err := io.Copy(s.Stdout, s.Stdin)
		return 0, err
	}}
	_, address, _ := f.serve(t, Limits{})
	const path = "/tasks/lex9x817/port-forward?port=80"
	first := dial(t, address, path, nil)
	second := dial(t, address, path, nil)
	defer func() { _ = second.Close() }()
	dialer := websocket.Dialer{Subprotocols: []string{exec.Protocol}}
	_, response, err := dialer.DialContext(t.Context(), "ws://"+address+path, http.Header{"X-User": {"ann"}})
	if err == nil || response.StatusCode != 429 {
		t.Errorf("the third session: %v", err)
	}
	if err := first.WriteMessage(websocket.BinaryMessage, []byte{exec.Close, exec.Stdin}); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; _, _, err = first.ReadMessage() {
	}
	_ = first.Close()
	for { // the server frees the slot after it has read the end of the connection
		ws, _, err := dialer.DialContext(t.Context(), "ws://"+address+path, http.Header{"X-User": {"ann"}})
		if err == nil {
			_ = ws.Close()
			return
		}
	}
}
