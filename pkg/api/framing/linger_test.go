package framing

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A slowConn signals before its deadline is set, and waits before it sets the deadline.
type slowConn struct {
	net.Conn
	entered, proceed chan struct{}
	deadlines        int
}

func (c *slowConn) SetDeadline(time.Time) error {
	close(c.entered)
	<-c.proceed
	c.deadlines++
	return nil
}

// TestInterruptOnReleasesTheConnection releases a connection at the moment in which a
// stopping server interrupts it.
func TestInterruptOnReleasesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		conn := &slowConn{entered: make(chan struct{}), proceed: make(chan struct{})}
		release := interruptOn(ctx, conn)
		cancel()
		<-conn.entered
		released := false
		go func() { release(); released = true }()
		synctest.Wait()
		if released {
			t.Fatal("the connection was released while its deadline was being set")
		}
		close(conn.proceed)
		synctest.Wait()
		if !released || conn.deadlines != 1 {
			t.Errorf("released %v after %d deadlines; want true after 1", released, conn.deadlines)
		}
	})
}

func TestInterruptOnDoesNothingAfterTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		conn := &slowConn{entered: make(chan struct{}), proceed: make(chan struct{})}
		interruptOn(ctx, conn)()
		cancel()
		synctest.Wait()
		if conn.deadlines != 0 {
			t.Errorf("%d deadlines were set after the release", conn.deadlines)
		}
	})
}
