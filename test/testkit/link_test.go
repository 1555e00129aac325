package testkit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

// echoing returns a link to a server that sends back what it reads. The channel receives the
// first bytes of each connection.
func echoing(t *testing.T) (*Link, <-chan string) {
	t.Helper()
	heard := make(chan string, 10)
	server := must.Listen(t)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				first := make([]byte, 100)
				n, err := c.Read(first)
				if err != nil {
					return
				}
				heard <- string(first[:n])
				_, _ = c.Write(first[:n])
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	l, err := NewLink("127.0.0.1:0", server.Addr().String())
	must.Succeed(t, err)
	t.Cleanup(l.Close)
	return l, heard
}

// A caller is one end of a connection through a link.
type caller struct {
	net.Conn
	in *bufio.Reader
}

func call(t *testing.T, l *Link) *caller {
	t.Helper()
	c, err := net.Dial("tcp", l.address)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c, bufio.NewReader(c)}
}

// says sends a line and returns nil if the same line comes back within the time.
func (c *caller) says(line string, within time.Duration) error {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(within))
	got, err := c.in.ReadString('\n')
	if err == nil && got != line+"\n" {
		err = fmt.Errorf("the answer is %q", got)
	}
	return err
}

const (
	soon  = 10 * time.Second      // for an answer that comes
	never = 50 * time.Millisecond // for an answer that must not come
)

func set(t *testing.T, l *Link, c Condition) {
	t.Helper()
	must.Succeed(t, l.Set(c))
}

func TestLinkCarries(t *testing.T) {
	l, _ := echoing(t)
	c := call(t, l)
	if err := c.says("hello", soon); err != nil {
		t.Error(err)
	}
	if n := l.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestCutLinkResetsAndRefuses(t *testing.T) {
	l, _ := echoing(t)
	c := call(t, l)
	must.Succeed(t, c.says("hello", soon))
	set(t, l, Condition{Cut: true})
	if err := c.says("anybody?", soon); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection was not reset: %v", err)
	}
	if again, err := net.Dial("tcp", l.address); err == nil {
		_ = again.Close()
		t.Error("a new connection was not refused")
	}
	set(t, l, Condition{})
	if err := call(t, l).says("again", soon); err != nil {
		t.Error(err)
	}
}

func TestBytesVanish(t *testing.T) {
	for _, tt := range []struct {
		name    string
		c       Condition
		arrives bool
	}{
		{"both", BlackHole, false}, {"forth", Condition{Forth: true}, false}, {"back", Condition{Back: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, heard := echoing(t)
			before := call(t, l)
			must.Succeed(t, before.says("hello", soon))
			<-heard
			set(t, l, tt.c)
			during := call(t, l)
			for _, c := range []*caller{before, during} {
				if err := c.says("anybody?", never); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("an answer, or the end: %v", err)
				}
			}
			if tt.arrives {
				if got := <-heard; got != "anybody?\n" {
					t.Errorf("%q arrived", got)
				}
			}
			if len(heard) > 0 {
				t.Errorf("%q arrived", <-heard)
			}
			set(t, l, Condition{})
			for _, c := range []*caller{before, during} { // a stream with a hole cannot continue
				_ = c.SetReadDeadline(time.Now().Add(soon))
				if text, err := c.in.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection goes on: %q, %v", text, err)
				}
			}
			if err := call(t, l).says("again", soon); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSlowLink(t *testing.T) {
	l, _ := echoing(t)
	c := call(t, l)
	if err := c.says("hello", soon); err != nil { // a connection that has not reached the target yet is reset
		t.Fatal(err)
	}
	set(t, l, Condition{Rate: 1000, Latency: 20 * time.Millisecond})
	begin := time.Now()
	if err := c.says("0123456789012345678901234567890123456789012345678", soon); err != nil { // 50 bytes with the end of the line
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 140*time.Millisecond {
		t.Errorf("50 bytes took %s there and back, want 50 ms and the latency each way", took)
	}
	if err := c.says("still the same connection", soon); err != nil {
		t.Error(err)
	}
	set(t, l, Condition{Latency: time.Hour})
	late := make(chan error, 1)
	go func() { late <- c.says("late", soon) }()
	set(t, l, Condition{})
	if err := <-late; err != nil {
		t.Errorf("a healed link is still slow: %v", err)
	}
}
