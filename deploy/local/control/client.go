package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Supervisor is a connection to a supervisor process.
type Supervisor struct {
	socket string
	PID    int
	pidfd  int
}

// Find returns the supervisor that listens on socket, or ErrNobody.
func Find(socket string) (*Supervisor, error) {
	conn, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	peer, err := credentials(conn)
	if err != nil {
		return nil, err
	}
	if peer.Uid != uint32(os.Geteuid()) && os.Geteuid() != 0 {
		return nil, fmt.Errorf("the cluster of this directory belongs to user %d", peer.Uid)
	}
	// The descriptor refers to this process, even if another process gets the same process
	// id later.
	fd, err := unix.PidfdOpen(int(peer.Pid), 0)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", peer.Pid, err)
	}
	return &Supervisor{socket: socket, PID: int(peer.Pid), pidfd: fd}, nil
}

// Ask sends a command word and passes each line of the answer to the caller.
func (s *Supervisor) Ask(ctx context.Context, word string, each func(line string)) error {
	conn, err := dial(s.socket)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	defer context.AfterFunc(ctx, func() { hangUp(conn) })()
	if _, err := fmt.Fprintln(conn, word); err != nil {
		return err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), failed); ok {
			return errors.New(text)
		}
		each(lines.Text())
	}
	return errors.Join(ctx.Err(), lines.Err())
}

// Gone reports whether the supervisor exited within d. All processes of a private cluster
// have exited by then, because their namespace ends before the supervisor exits.
func (s *Supervisor) Gone(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

// Kill kills the supervisor immediately.
func (s *Supervisor) Kill() error {
	return unix.PidfdSendSignal(s.pidfd, unix.SIGKILL, nil, 0)
}

// hangUp closes c. The peer reads the end of the stream. hangUp ignores the error, because
// no caller could act on it.
func hangUp(c io.Closer) { _ = c.Close() }

func dial(socket string) (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil, ErrNobody
	}
	return conn, err
}
