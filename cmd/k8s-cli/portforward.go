package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const portForwardHelp = `Make ports of a running task available on this machine, for example a notebook
or a dashboard, until Ctrl-C.

` + ref.Help + `
PORT is the port in the task and on this machine; LOCAL:PORT names another port
on this machine, and :PORT any free one. Without PORT, the command forwards the
ports in resources.ports of the task file. Only programs on this machine can
connect, unless --address names another address.
The server must allow sessions (--allow-exec).`

// A forwarding is one port of this machine and one port of a task.
type forwarding struct{ local, remote uint16 }

func newPortForwardCommand(e *env, s *server) *cobra.Command {
	var node int
	var address string
	cmd := &cobra.Command{
		Use:   "port-forward ID [[LOCAL:]PORT...]",
		Short: "Forward local ports to a running task",
		Long:  portForwardHelp,
		Example: `  k8s-cli jobs port-forward mqp6bsu4 8888
  k8s-cli jobs port-forward train 9000:8888 6006
  k8s-cli jobs port-forward train :8888 --node 1
  k8s-cli jobs port-forward train  # the ports in the task file`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	cmd.Flags().IntVar(&node, "node", 0, "rank of the node")
	cmd.Flags().StringVar(&address, "address", "127.0.0.1", "IP address of this machine on which to listen")
	s.shortFlag(cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, args []string) error {
		ports, err := forwardings(args[1:])
		if err != nil {
			return exit.Usagef("%v", err)
		}
		if net.ParseIP(address) == nil {
			return exit.Usagef("--address: %q is not an IP address", address)
		}
		found, err := ref.Task(ctx, c, args[0])
		if err != nil {
			return err
		}
		if len(ports) == 0 {
			if ports, err = declaredPorts(ctx, c, found.ID); err != nil {
				return err
			}
		}
		if err := canForward(ctx, c, found, node, ports[0].remote); err != nil {
			return err
		}
		ctx, stop := e.interrupts(ctx)
		defer stop()
		f := &forwarder{screen: &e.Console, client: c, id: found.ID, node: node}
		return f.run(ctx, address, ports)
	})
	return cmd
}

// canForward returns an error if no connection to a task can succeed.
func canForward(ctx context.Context, c *client.Client, s task.Status, node int, port uint16) error {
	switch n := s.Metadata.NumNodes; {
	case s.Phase != task.Running:
		return fmt.Errorf("%s; port-forward needs a running task", summary(s))
	case node < 0 || node >= max(n, 1):
		return exit.Usagef("--node %d: %s", node, task.RanksText(n))
	}
	return c.CheckForward(ctx, s.ID, node, port)
}

// declaredPorts returns the ports in the task file of a task, without ranges.
func declaredPorts(ctx context.Context, c *client.Client, id string) ([]forwarding, error) {
	s, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	single := slices.DeleteFunc(slices.Clone(s.Metadata.Ports), func(p string) bool { return strings.Contains(p, "-") })
	if len(single) == 0 {
		return nil, exit.Usagef("resources.ports of task %s does not name one port; name a port", id)
	}
	return forwardings(single)
}

// forwardings parses ports of the forms PORT, LOCAL:PORT and :PORT.
func forwardings(texts []string) (all []forwarding, err error) {
	for _, text := range texts {
		local, remote, ok := strings.Cut(text, ":")
		switch {
		case !ok:
			remote = local
		case local == "":
			local = "0"
		}
		from, wrongLocal := strconv.ParseUint(local, 10, 16)
		to, wrongRemote := strconv.ParseUint(remote, 10, 16)
		if wrongLocal != nil || wrongRemote != nil || to == 0 {
			return nil, fmt.Errorf("%q is not PORT, LOCAL:PORT or :PORT, with ports up to 65535", text)
		}
		all = append(all, forwarding{uint16(from), uint16(to)})
	}
	return all, nil
}

// A forwarder forwards the connections to local ports to one node of a task.
type forwarder struct {
	screen *console.Console
	client *client.Client
	id     string
	node   int

	connections sync.WaitGroup
	saying      sync.Mutex
}

// run forwards connections until ctx ends or the task can be reached no longer.
func (f *forwarder) run(ctx context.Context, address string, ports []forwarding) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer f.connections.Wait()
	defer cancel(nil)
	network := "tcp"
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is4() {
		network = "tcp4" // with tcp, 0.0.0.0 would include all IPv6 addresses
	}
	for _, p := range ports {
		listener, err := new(net.ListenConfig).Listen(ctx, network, net.JoinHostPort(address, strconv.Itoa(int(p.local))))
		if err != nil {
			return fmt.Errorf("listen for port %d: %w", p.remote, err)
		}
		defer listener.Close()
		defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
		fmt.Fprintf(f.screen.Out, "Forwarding %s to port %d of node %d of task %s\n", listener.Addr(), p.remote, f.node, f.id)
		f.connections.Go(func() { f.accept(ctx, cancel, listener, p.remote) })
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// accept forwards the connections to one port until ctx ends.
func (f *forwarder) accept(ctx context.Context, cancel context.CancelCauseFunc, listener net.Listener, port uint16) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			cancel(err)
			return
		}
		f.connections.Go(func() {
			defer conn.Close()
			err := f.client.Forward(ctx, f.id, f.node, port, conn)
			switch {
			case err == nil, ctx.Err() != nil:
			case isFinal(err):
				cancel(err)
			default:
				f.saying.Lock()
				f.screen.Warn("%s", strings.TrimPrefix(err.Error(), client.ErrBrokenExec.Error()+": "))
				f.saying.Unlock()
			}
		})
	}
}

// isFinal reports whether no later connection can succeed.
func isFinal(err error) bool {
	for _, kind := range []error{problem.NotFound, problem.Invalid, problem.Forbidden, problem.Unauthorized} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return errors.Is(err, problem.Conflict) // the node has ended
}
