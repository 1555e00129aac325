//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/control"
	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/layout"
)

// down stops the cluster and removes its state. down succeeds also if the cluster crashed
// or never existed.
func (c command) down(ctx context.Context) error {
	if release, err := c.alone(ctx); err == nil {
		defer release()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, kit, found := c.layout, build.Artifacts{}, false
	if old, err := stored(l.Settings()); err == nil {
		l, kit, found = old.Layout, old.Kit, true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, status, err := c.running(ctx)
	switch {
	case err == nil:
		l, found = status.Layout, true
		if err := end(ctx, s); err != nil {
			return err
		}
	case !errors.Is(err, control.ErrNobody):
		return err
	}
	if err := clean(ctx, l, kit); err != nil {
		return err
	}
	if !found {
		c.tell.Say("no cluster runs in %s", l.Dir)
		return nil
	}
	if err := forget(l); err != nil {
		return err
	}
	c.tell.Say("the cluster in %s is down", l.Dir)
	return nil
}

// end terminates a supervisor, and kills it if the termination takes too long.
func end(ctx context.Context, s *control.Supervisor) error {
	if err := s.Ask(ctx, "stop", func(string) {}); err != nil && ctx.Err() != nil {
		return err
	}
	if s.Gone(stopTime) {
		return nil
	}
	if err := s.Kill(); err != nil {
		return fmt.Errorf("kill the supervisor, process %d: %w", s.PID, err)
	}
	if !s.Gone(stopTime) {
		return fmt.Errorf("the supervisor, process %d, does not end", s.PID)
	}
	return nil
}

// clean removes the leftovers of a crashed cluster outside of its directory. A cluster of a
// user other than root leaves nothing.
func clean(ctx context.Context, l layout.Layout, kit build.Artifacts) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := host.NFT(kit.NFT()).RemoveProxy(ctx, l); err != nil {
		return err
	}
	if err := host.RemoveBridge(l); err != nil {
		return err
	}
	if err := host.RemoveCgroup(l); err != nil {
		return err
	}
	return os.RemoveAll(l.Run())
}
