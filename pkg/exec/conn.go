package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// StallLimit is the longest time in which one side of a session reads nothing although
	// the other side sends, and the longest time without a sign of life.
	StallLimit = time.Minute
	pingPeriod = 20 * time.Second
	closeLimit = time.Second // for the messages at the end of a session
)

// The kinds of messages: RFC 6455, section 11.8.
const (
	binaryMessage = 2
	closeMessage  = 8
	pingMessage   = 9
)

// A Socket is a WebSocket connection. The WebSocket packages of the server and of the client
// implement it.
type Socket interface {
	NextReader() (kind int, r io.Reader, err error)
	WriteMessage(kind int, data []byte) error
	WriteControl(kind int, data []byte, deadline time.Time) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	Close() error
}

// A Controller sets how a Socket receives. The WebSocket packages of the server and of the client
// implement it.
type Controller interface {
	SetReadLimit(bytes int64)
	PingHandler() func(data string) error
	SetPingHandler(handle func(data string) error)
	SetPongHandler(handle func(data string) error)
}

// A Conn sends and receives the messages of a session. One goroutine may call Receive, and any
// number may call the other methods. A Conn holds one message of each direction.
type Conn struct {
	socket Socket
	in     []byte // the message that Receive returned last

	sending sync.Mutex
	out     []byte

	deadlines sync.Mutex
	ended     bool // Limit has set the last deadlines
}

// NewConn returns a Conn over socket; control is of the same connection.
func NewConn(socket Socket, control Controller) *Conn {
	c := &Conn{socket: socket, in: make([]byte, MaxData+2), out: make([]byte, MaxData+1)}
	control.SetReadLimit(MaxData + 1)
	answer := control.PingHandler()
	control.SetPingHandler(func(data string) error {
		c.extend()
		return answer(data)
	})
	control.SetPongHandler(func(string) error {
		c.extend()
		return nil
	})
	return c
}

var errMalformed = errors.New("the peer sent a message that is not of the protocol " + Protocol)

// Receive returns the next message. The data is valid until the next call.
func (c *Conn) Receive() (channel byte, data []byte, err error) {
	c.extend()
	kind, r, err := c.socket.NextReader()
	if err != nil {
		return 0, nil, err
	}
	n, err := io.ReadFull(r, c.in)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, err
	case err == nil || n == 0 || kind != binaryMessage: // too long, empty, or text
		return 0, nil, errMalformed
	}
	return c.in[0], c.in[1:n], nil
}

// extend extends the time that the peer has until its next message.
func (c *Conn) extend() {
	c.setDeadline(c.socket.SetReadDeadline, time.Now().Add(StallLimit))
}

func (c *Conn) setDeadline(set func(time.Time) error, at time.Time) {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if !c.ended {
		_ = set(at)
	}
}

// Send sends data in as many messages as necessary. Send waits while the peer reads nothing, but
// not longer than StallLimit.
func (c *Conn) Send(channel byte, data []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	for first := true; first || len(data) > 0; first = false {
		c.out[0] = channel
		n := copy(c.out[1:], data)
		data = data[n:]
		c.setDeadline(c.socket.SetWriteDeadline, time.Now().Add(StallLimit))
		if err := c.socket.WriteMessage(binaryMessage, c.out[:n+1]); err != nil {
			return err
		}
	}
	return nil
}

// SendJSON sends a value as JSON.
func (c *Conn) SendJSON(channel byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.Send(channel, data)
}

// Writer returns a writer to a channel.
func (c *Conn) Writer(channel byte) io.Writer { return writer{c, channel} }

type writer struct {
	conn    *Conn
	channel byte
}

func (w writer) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.conn.Send(w.channel, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// KeepAlive sends pings until done is closed or the connection breaks, and returns why it broke.
// Pings show the peer that this side lives, also while this side reads nothing.
func (c *Conn) KeepAlive(done <-chan struct{}) error {
	ticker := time.NewTicker(pingPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ticker.C:
		}
		err := c.socket.WriteControl(pingMessage, nil, time.Now().Add(pingPeriod))
		if e, ok := errors.AsType[net.Error](err); err != nil && (!ok || !e.Timeout()) {
			return err
		}
	}
}

// Limit bounds the time of all present and later calls of Receive and Send, because the session
// is over.
func (c *Conn) Limit(limit time.Duration) {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	c.ended = true
	_ = c.socket.SetReadDeadline(time.Now().Add(limit))
	time.AfterFunc(limit, func() { _ = c.socket.Close() }) // a deadline would not end a Send that waits already
}

// SayGoodbye tells the peer that no message follows.
func (c *Conn) SayGoodbye(code uint16) {
	_ = c.socket.WriteControl(closeMessage, []byte{byte(code >> 8), byte(code)}, time.Now().Add(closeLimit))
}
