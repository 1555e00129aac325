package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/control"
	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/parts"
	"k8s-cli/deploy/local/supervise"
)

// A Cluster is the supervisor's side of a cluster.
type Cluster struct {
	layout   layout.Layout
	kit      build.Artifacts
	api      *client
	programs *supervise.Group
	journal  journal
	start    time.Time
	services errgroup.Group  // what this process itself does, next to the programs
	serving  context.Context // ends when the last program has ended
	addOns   addOns
}

// A Status is what a supervisor says of its cluster.
type Status struct {
	Layout   layout.Layout     `json:"layout"`
	Programs []supervise.State `json:"programs"`
}

// Supervise runs the cluster of l until ctx ends or a command says so. It
// takes the control socket first and tells so to listening: from then on
// commands may be sent, and the first of them will want to wait.
func Supervise(ctx context.Context, l layout.Layout, kit build.Artifacts, log *slog.Logger, listening func(error)) error {
	listener, err := control.Listen(l.Socket())
	listening(err)
	if err != nil {
		return err
	}
	c := &Cluster{layout: l, kit: kit, start: time.Now(), programs: supervise.New(log)}
	return c.run(ctx, listener)
}

// run returns when every part has ended. It answers commands until then, so that a
// client that waits gets the reason why no cluster runs.
func (c *Cluster) run(ctx context.Context, listener *net.UnixListener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	c.serving = serving
	c.services.Go(func() error { return control.Serve(serving, listener, c.answer(ctx, stop)) })
	err := c.bringUp(ctx)
	c.journal.end(err)
	if err == nil {
		<-ctx.Done()
	}
	if err == nil && c.layout.Nodes == layout.Kwok {
		err = c.dropFakeVolumes(serving)
	}
	c.programs.Stop()
	hangUp()
	return errors.Join(err, c.services.Wait())
}

// answer handles the commands. Once the cluster's own context has ended there
// is nothing to wait for any more.
func (c *Cluster) answer(running context.Context, stop func()) control.Handler {
	return func(ctx context.Context, word string, say func(string) error) error {
		switch word {
		case "stop":
			stop()
			return nil
		case "wait":
			return c.journal.follow(ctx, say)
		case "complete":
			return c.complete(ctx)
		case "status":
			if running.Err() != nil {
				return errors.New("the cluster is being taken down")
			}
			b, err := json.Marshal(Status{Layout: c.layout, Programs: c.programs.States()})
			if err != nil {
				return err
			}
			return say(string(b))
		}
		return fmt.Errorf("no command is called %q", word)
	}
}

func (c *Cluster) isMine(pid int) bool {
	for _, s := range c.programs.States() {
		if s.PID == pid {
			return true
		}
	}
	return false
}

// bringUp returns when the cluster is ready to be used.
func (c *Cluster) bringUp(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.controlPlane(gctx) })
	if c.layout.Nodes == layout.Kubelet {
		g.Go(func() error { return c.containers(gctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if c.layout.Nodes == layout.None {
		return nil
	}
	if err := c.nodes(ctx); err != nil {
		return err
	}
	return c.until(ctx, "kube-controller-manager", "no account for pods", c.accountReady)
}

// prepare makes everything that is there before the first program.
func (c *Cluster) prepare() error {
	if err := host.ShareVolumes(); err != nil {
		return err
	}
	if c.layout.Nodes == layout.Kubelet {
		if err := c.prepareMachine(); err != nil {
			return err
		}
	}
	for name, text := range parts.Files(c.layout, c.kit) {
		path := c.layout.Config(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	var err error
	c.api, err = newClient(c.layout)
	return err
}

// prepareMachine makes this machine ready to be a node.
func (c *Cluster) prepareMachine() error {
	if err := host.Settle(c.layout); err != nil {
		return err
	}
	c.services.Go(func() error { return host.Reap(c.serving, c.isMine) })
	c.services.Go(func() error { return host.OpenVolumes(c.serving, host.Volumes) })
	if err := host.AddCgroup(c.layout); err != nil {
		return err
	}
	if err := host.AddBridge(c.layout); err != nil {
		return err
	}
	if host.FiltersBridges() {
		c.journal.add("warning: this machine forwards nothing, as Docker sets it up, so that pods may not reach each other; iptables -I FORWARD -i " + c.layout.Bridge() + " -j ACCEPT helps")
	}
	service, err := net.Listen("tcp", net.JoinHostPort(c.layout.ServiceIP().String(), "443"))
	if err != nil {
		return fmt.Errorf("listen where pods look for the API server: %w", err)
	}
	c.services.Go(func() error { return forward(c.serving, service, c.layout.Addr(layout.APIServer)) })
	return nil
}
