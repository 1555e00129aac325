package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"k8s-cli/pkg/exec"
	"k8s-cli/pkg/task"
)

// ErrBrokenExec is the kind of error of an exec session that ended before its command. The command
// may still run.
var ErrBrokenExec = errors.New("the session broke off")

// An ExecOptions describes a command in a pod of a task, and its streams.
type ExecOptions struct {
	Node    int      // rank of the node
	Command []string // program and arguments
	TTY     bool     // the command gets a terminal, and Stderr is unused

	Stdin          io.Reader // nil if the command gets no input
	Stdout, Stderr io.Writer
	Sizes          <-chan exec.Size // of the terminal; nil without one
}

// Exec runs a command in the container of a node of a task, and returns the exit code of the
// command. If the session ends before the command, the error is of kind ErrBrokenExec. Exec
// never runs a command twice. A blocked read of Stdin may outlast Exec.
func (c *Client) Exec(ctx context.Context, id string, o ExecOptions) (exitCode int, err error) {
	q := url.Values{"node": {strconv.Itoa(o.Node)}, "command": o.Command, "tty": {strconv.FormatBool(o.TTY)}, "stdin": {strconv.FormatBool(o.Stdin != nil)}}
	end, err := c.openExec(ctx, id, "exec", q, o)
	if err == nil && end.ExitCode == nil {
		err = fmt.Errorf("%w: the server did not report an exit code", ErrBrokenExec)
	}
	if err != nil {
		return 0, err
	}
	return *end.ExitCode, nil
}

// Forward connects local to a port of a node of a task until the connection ends on one side. The
// caller closes local after that.
func (c *Client) Forward(ctx context.Context, id string, node int, port uint16, local io.ReadWriter) error {
	q := url.Values{"node": {strconv.Itoa(node)}, "port": {strconv.Itoa(int(port))}}
	_, err := c.openExec(ctx, id, "port-forward", q, ExecOptions{Stdin: local, Stdout: local})
	return err
}

// CheckForward returns the error with which the server would reject each connection to a port of a
// task: the server has no such task, or allows no sessions.
func (c *Client) CheckForward(ctx context.Context, id string, node int, port uint16) error {
	path, err := objectPath(task.KindTask, id, "port-forward")
	if err != nil {
		return err
	}
	q := url.Values{"node": {strconv.Itoa(node)}, "port": {strconv.Itoa(int(port))}}
	err = c.do(ctx, request{method: http.MethodGet, path: path, query: q}, nil)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == http.StatusUpgradeRequired { // the server would accept a WebSocket
		return nil
	}
	return err
}

// openExec opens an exec session and copies its streams until its end.
func (c *Client) openExec(ctx context.Context, id, verb string, q url.Values, o ExecOptions) (exec.End, error) {
	path, err := objectPath(task.KindTask, id, verb)
	if err != nil {
		return exec.End{}, err
	}
	ws, err := c.upgrade(ctx, request{method: http.MethodGet, path: path, query: q})
	if err != nil {
		return exec.End{}, err
	}
	defer func() { _ = ws.Close() }()
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })()
	conn := exec.NewConn(ws, ws)
	done := make(chan struct{})
	defer close(done)
	go func() { _ = conn.KeepAlive(done) }()
	go sendSizes(conn, o.Sizes, done)
	if o.Stdin != nil {
		go sendInput(conn, o.Stdin)
	}
	end, err := receive(conn, o)
	switch {
	case ctx.Err() != nil && err != nil:
		return end, context.Cause(ctx)
	case err == nil:
		conn.SayGoodbye(websocket.CloseNormalClosure)
	}
	return end, err
}

// sendInput sends what it reads from in, and then closes the channel.
func sendInput(conn *exec.Conn, in io.Reader) {
	_, _ = io.Copy(conn.Writer(exec.Stdin), in)
	_ = conn.Send(exec.Close, []byte{exec.Stdin})
}

func sendSizes(conn *exec.Conn, sizes <-chan exec.Size, done <-chan struct{}) {
	for {
		select {
		case size := <-sizes:
			_ = conn.SendJSON(exec.Resize, size)
		case <-done:
			return
		}
	}
}

// receive writes the output until the last message.
func receive(conn *exec.Conn, o ExecOptions) (end exec.End, err error) {
	for {
		ch, data, err := conn.Receive()
		if err != nil {
			return end, fmt.Errorf("%w: %w", ErrBrokenExec, err)
		}
		switch ch {
		case exec.Stdout:
			_, err = o.Stdout.Write(data)
		case exec.Stderr:
			if o.Stderr != nil {
				_, err = o.Stderr.Write(data)
			}
		case exec.Status:
			if err := json.Unmarshal(data, &end); err != nil {
				return end, fmt.Errorf("%w: %w", ErrBrokenExec, err)
			}
			if end.Error != "" {
				return end, fmt.Errorf("%w: %s", ErrBrokenExec, end.Error)
			}
			return end, nil
		}
		if err != nil {
			return end, err
		}
	}
}

// upgrade opens a WebSocket. If the server is too busy, upgrade tries again until the client's
// timeout.
func (c *Client) upgrade(ctx context.Context, r request) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %s", c.timeout))
	defer cancel()
	for attempt := 0; ; attempt++ {
		ws, err := c.upgradeOnce(ctx, r)
		refused, ok := errors.AsType[*Error](err)
		if !ok || refused.Code == 0 { // the command may have begun
			return ws, err
		}
		wait, again := c.repeats(r, err, attempt)
		wait = c.jittered(wait)
		if deadline, _ := ctx.Deadline(); !again || time.Until(deadline) < wait {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (c *Client) upgradeOnce(ctx context.Context, r request) (*websocket.Conn, error) {
	q, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{
		Proxy:           http.ProxyFromEnvironment,
		NetDialContext:  (&net.Dialer{Timeout: connectTimeout}).DialContext,
		ReadBufferSize:  4 << 10,
		WriteBufferSize: exec.MaxData + 16, // one message fits
		Subprotocols:    []string{exec.Protocol},
	}
	address := "ws" + strings.TrimPrefix(q.URL.String(), "http") // https becomes wss
	ws, response, err := dialer.DialContext(ctx, address, q.Header)
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, c.refusal(response)
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case ws.Subprotocol() != exec.Protocol:
		_ = ws.Close()
		return nil, fmt.Errorf("%s does not support the protocol %s; use the version of k8s-cli that fits the server", c.url, exec.Protocol)
	}
	return ws, nil
}
