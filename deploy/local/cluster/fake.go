package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/parts"
)

// fakeNodes starts kwok and waits for the nodes it plays.
func (c *Cluster) fakeNodes(ctx context.Context) error {
	if err := c.api.remove(ctx, parts.NodeLeases); err != nil {
		return fmt.Errorf("forget the former nodes: %w", err)
	}
	c.programs.Start(parts.Kwok(c.layout, c.kit))
	for i := range c.layout.KwokNodes {
		if err := c.api.create(ctx, "/api/v1/nodes", parts.FakeNode(i)); err != nil {
			return fmt.Errorf("create a fake node: %w", err)
		}
	}
	for i := range c.layout.KwokNodes {
		name := parts.FakeNodeName(i)
		if err := c.until(ctx, "kwok", "the fake nodes are not ready", c.nodeReady(name, c.start)); err != nil {
			return err
		}
	}
	c.journal.add(fmt.Sprintf("%d fake nodes are ready", c.layout.KwokNodes))
	return nil
}

// dropFakeVolumes removes the directories of the cluster's volumes. A real
// node's are below its own directory; these are where all clusters have them.
// No pod ever wrote there, so that they are empty.
func (c *Cluster) dropFakeVolumes(ctx context.Context) error {
	var volumes struct {
		Items []struct {
			Spec struct{ HostPath struct{ Path string } }
		}
	}
	if err := c.api.read(ctx, "/api/v1/persistentvolumes", &volumes); err != nil {
		return fmt.Errorf("list the volumes: %w", err)
	}
	for _, v := range volumes.Items {
		if path := v.Spec.HostPath.Path; filepath.Dir(path) == host.Volumes {
			_ = os.Remove(path) // what is not empty is not ours
		}
	}
	return nil
}
