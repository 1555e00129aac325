// Package control connects the commands with the supervisor of a cluster over an abstract
// Unix socket. Such a socket needs no file, and disappears when its process exits.
//
// A client sends one word and reads lines until the connection ends.
package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNobody means that no supervisor listens on the socket.
var ErrNobody = errors.New("no supervisor listens")

// A Handler answers a command word with lines. The Handler returns at the latest when ctx
// ends, and its error becomes the last line.
type Handler func(ctx context.Context, word string, say func(line string) error) error

// failed marks the last line of an answer as an error.
const failed = "error: "

// Listen listens on the socket. Only one process can hold the socket.
func Listen(socket string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
}

// Serve answers commands until ctx ends, and then waits for the answers in progress.
func Serve(ctx context.Context, listener *net.UnixListener, handle Handler) error {
	var answers sync.WaitGroup
	defer answers.Wait()
	defer context.AfterFunc(ctx, func() { hangUp(listener) })()
	for {
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a command: %w", err)
		}
		answers.Go(func() { answer(ctx, conn, handle) })
	}
}

func answer(ctx context.Context, conn *net.UnixConn, handle Handler) {
	defer hangUp(conn)
	defer context.AfterFunc(ctx, func() { _ = conn.CloseRead() })()
	peer, err := credentials(conn)
	if err != nil || (peer.Uid != 0 && peer.Uid != uint32(os.Geteuid())) {
		return // abstract sockets have no permissions of their own
	}
	word, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	say := func(line string) error {
		_, err := fmt.Fprintln(conn, line)
		return err
	}
	if err := handle(ctx, strings.TrimSpace(word), say); err != nil {
		_ = say(failed + strings.ReplaceAll(err.Error(), "\n", " "))
	}
}

func credentials(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return cred, errors.Join(err, credErr)
}
