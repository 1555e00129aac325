//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s-cli/deploy/local/control"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/parts"
)

// load gives the node the images of archives, which no registry has.
func (c command) load(ctx context.Context, archives []string) error {
	_, status, err := c.running(ctx)
	if errors.Is(err, control.ErrNobody) {
		return fmt.Errorf("no cluster runs in %s; start one with: make cluster", c.layout.Dir)
	}
	if err != nil {
		return err
	}
	if status.Layout.Nodes != layout.Kubelet {
		return errors.New("the nodes of this cluster are fake and run no images")
	}
	s, err := stored(status.Layout.Settings())
	if err != nil {
		return err
	}
	socket := s.Layout.Run("containerd", filepath.Base(parts.ContainerdSocket)) // as this process sees it
	for _, archive := range archives {
		args := parts.Import(s.Kit, socket, archive)
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("load %s: %w: %s", archive, err, out)
		}
		c.tell.Say("loaded %s", archive)
	}
	return nil
}
