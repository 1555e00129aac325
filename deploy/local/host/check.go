// Package host prepares the machine for a local cluster: it checks ports, and creates the
// network bridge, control groups, and private mount and process namespaces.
package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

var errNotRoot = errors.New("a real node needs root; run as root, or set NODES=kwok for fake nodes")

// Check returns an error for the first requirement of l that this machine does not meet.
func Check(l layout.Layout) error {
	if l.Nodes == layout.Kubelet && os.Geteuid() != 0 {
		return errNotRoot
	}
	if err := unix.Access(parent(l.Dir), unix.W_OK); err != nil {
		return fmt.Errorf("%s cannot be written: %w", l.Dir, err)
	}
	return nil
}

// parent returns the deepest existing directory of path.
func parent(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		cut := len(path) - 1
		for cut > 0 && path[cut] != '/' {
			cut--
		}
		path = path[:max(cut, 1)]
	}
}

// Commands returns the command lines of the processes of this machine that this user may see.
func Commands() (all [][]string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil { // the process may have ended
			all = append(all, strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"))
		}
	}
	return all
}

// dying is how long the programs of a killed supervisor may still hold their ports, because
// the kernel does not kill them at the same moment.
const dying = 2 * time.Second

// PortsFree returns an error for the first port of l on which another program listens.
func PortsFree(ctx context.Context, l layout.Layout) error {
	ctx, cancel := context.WithTimeout(ctx, dying)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, p := range l.Ports() {
		for {
			err := portFree(l, p)
			if err == nil {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return err
			}
		}
	}
	return nil
}

func portFree(l layout.Layout, p layout.Port) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", l.Port(p)))
	if err != nil {
		return fmt.Errorf("port %d, for %s, is taken; end the program that listens there, or choose another instance (INSTANCE=1 to %d): %w",
			l.Port(p), p, layout.MaxInstance, err)
	}
	return listener.Close()
}
