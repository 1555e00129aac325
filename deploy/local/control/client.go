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

// A Supervisor is the process at the other end of a socket.
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
	// The descriptor stays with this very process, whoever gets its number next.
	fd, err := unix.PidfdOpen(int(peer.Pid), 0)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", peer.Pid, err)
	}
	return &Supervisor{socket: socket, PID: int(peer.Pid), pidfd: fd}, nil
}

// Ask sends word and passes on the lines of the answer.
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

// Gone reports whether the supervisor ended within d. With it has gone every
// process of a private cluster: its namespace ends before the supervisor does.
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

// Kill ends the supervisor at once.
func (s *Supervisor) Kill() error {
	return unix.PidfdSendSignal(s.pidfd, unix.SIGKILL, nil, 0)
}

// hangUp closes c. Whoever is at the other end reads the end; nobody could act
// on an error.
func hangUp(c io.Closer) { _ = c.Close() }

func dial(socket string) (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil, ErrNobody
	}
	return conn, err
}
