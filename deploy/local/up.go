//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/control"
	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/pki"
)

// up returns when the cluster is ready. It stays behind in a process of its own.
func (c command) up(ctx context.Context) error {
	if err := host.Check(c.layout); err != nil {
		return err
	}
	if err := os.MkdirAll(c.layout.Dir, 0o755); err != nil {
		return err
	}
	release, err := c.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	s, status, err := c.running(ctx)
	if errors.Is(err, control.ErrNobody) {
		return c.begin(ctx)
	}
	if err != nil {
		return err
	}
	if !intact(status.Layout) {
		c.tell.Say("the files of the running cluster are gone; starting a new one")
		if err := end(ctx, s); err != nil {
			return err
		}
		if err := forget(c.layout); err != nil { // it wrote until its end
			return err
		}
		return c.begin(ctx)
	}
	if err := same(status.Layout, c.layout); err != nil {
		return err
	}
	if err := c.join(ctx, s, func(string) {}); err != nil {
		return err
	}
	if err := c.complete(ctx, s); err != nil {
		return err
	}
	c.tell.Say("the cluster runs already: export KUBECONFIG=%s", c.layout.Kubeconfig())
	return nil
}

// choice is what up has to build.
func (c command) choice() build.Choice {
	if c.firstTask {
		return build.FirstTask
	}
	return build.Everything
}

// complete adds what the first task could do without to a running cluster.
func (c command) complete(ctx context.Context, s *control.Supervisor) error {
	if c.firstTask || c.layout.Nodes != layout.Kubelet {
		return nil
	}
	old, err := stored(c.layout.Settings())
	if err != nil || !old.Kit.Splits() {
		return err
	}
	if !old.Kit.Complete(c.layout) {
		if _, err := build.Ensure(ctx, c.source, c.layout, build.AddOns, c.tell); err != nil {
			return err
		}
	}
	return s.Ask(ctx, "complete", func(string) {})
}

// begin starts a cluster where none runs.
func (c command) begin(ctx context.Context) error {
	if err := c.launch(ctx); err != nil {
		return err
	}
	start := time.Now()
	s, err := control.Find(c.layout.Socket())
	if err != nil {
		return fmt.Errorf("the supervisor died at once; see %s: %w", c.layout.Log("supervisor"), err)
	}
	err = c.join(ctx, s, func(line string) { c.tell.Say("  %s", line) })
	if ctx.Err() != nil {
		c.tell.Say("interrupted; stopping what was started")
		return errors.Join(err, end(context.WithoutCancel(ctx), s))
	}
	if err != nil {
		s.Gone(stopTime) // so that the next attempt meets no rest of this one
		return fmt.Errorf("the cluster did not come up: %w", err)
	}
	c.tell.Say("the cluster is ready after %s: export KUBECONFIG=%s", time.Since(start).Round(time.Second), c.layout.Kubeconfig())
	return nil
}

// launch prepares everything that a supervisor needs and starts it.
func (c command) launch(ctx context.Context) error {
	if err := claim(c.layout); err != nil {
		return err
	}
	kit, err := build.Ensure(ctx, c.source, c.layout, c.choice(), c.tell)
	if err != nil {
		return err
	}
	if err := host.PortsFree(ctx, c.layout); err != nil {
		return cmp.Or(heldByAnother(c.layout, host.Commands()), err)
	}
	if err := (settings{Layout: c.layout, Kit: kit}).store(); err != nil {
		return err
	}
	if err := pki.Ensure(c.layout); err != nil {
		return err
	}
	if err := c.offerKubectl(kit); err != nil {
		return err
	}
	return spawn(c.layout)
}

// heldByAnother returns an error that names the cluster of another directory with the instance
// of l, or nil if the command lines of this machine show no such cluster.
func heldByAnother(l layout.Layout, commands [][]string) error {
	taken := map[int]string{} // directories by instance
	for _, args := range commands {
		if len(args) != 3 || args[0] != supervisor || args[1] != "supervise" {
			continue
		}
		if s, err := stored(args[2]); err == nil && s.Layout.Dir != l.Dir {
			taken[s.Layout.Instance] = s.Layout.Dir
		}
	}
	dir, held := taken[l.Instance]
	if !held {
		return nil
	}
	for free := range layout.MaxInstance + 1 {
		if _, held := taken[free]; !held {
			return fmt.Errorf("the cluster in %s uses the ports of instance %d; choose another instance: add INSTANCE=%d to the command, as in make run INSTANCE=%d", dir, l.Instance, free, free)
		}
	}
	return fmt.Errorf("the cluster in %s uses the ports of instance %d, and no other instance is free; end a cluster with make cluster-down", dir, l.Instance)
}

// supervisor is the name of the process that stays behind.
const supervisor = "k8s-cli-local"

// spawn starts the supervisor and returns when it takes commands.
func spawn(l layout.Layout) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path("log"), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(l.Log("supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(exe, "supervise", l.Settings())
	cmd.Args[0] = supervisor
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.Nodes == layout.Kubelet {
		cmd.SysProcAttr = host.Private()
	}
	err = cmd.Start()
	w.Close()
	if errors.Is(err, syscall.EPERM) {
		return errors.New("this machine lets not even root have namespaces, as in a container without privileges; set NODES=kwok for fake nodes")
	}
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	if refusal, err := io.ReadAll(r); err != nil || len(refusal) > 0 {
		return errors.Join(err, fmt.Errorf("start the supervisor: %s", refusal))
	}
	return cmd.Process.Release()
}

// join waits until the cluster of s is ready.
func (c command) join(ctx context.Context, s *control.Supervisor, each func(line string)) error {
	if err := pki.Ensure(c.layout); err != nil {
		return err
	}
	return s.Ask(ctx, "wait", each)
}
