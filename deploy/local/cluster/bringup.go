package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"

	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/image"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/parts"
)

// controlPlane starts the programs that need no node; without any nodes, only
// those that keep objects.
func (c *Cluster) controlPlane(ctx context.Context) error {
	c.programs.Start(parts.Etcd(c.layout, c.kit))
	if err := c.until(ctx, "etcd", "etcd does not answer", c.etcdReady); err != nil {
		return err
	}
	c.programs.Start(parts.APIServer(c.layout, c.kit))
	if err := c.until(ctx, "kube-apiserver", "the API server is not ready", c.apiReady); err != nil {
		return err
	}
	c.journal.add("the API server is ready")
	if c.layout.Nodes == layout.None {
		return nil
	}
	c.programs.Start(parts.ControllerManager(c.layout, c.kit))
	c.programs.Start(parts.Scheduler(c.layout, c.kit))
	if err := c.api.create(ctx, "/apis/storage.k8s.io/v1/storageclasses", parts.StorageClass()); err != nil {
		return fmt.Errorf("create the storage class: %w", err)
	}
	return nil
}

// containers starts what runs containers, and gives it their images.
func (c *Cluster) containers(ctx context.Context) error {
	c.programs.Start(parts.Containerd(c.layout, c.kit))
	err := c.until(ctx, "containerd", "containerd does not answer", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", parts.ContainerdSocket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return err
	}
	for _, tarball := range []string{"pause", "task"} {
		args := parts.Import(c.kit, parts.ContainerdSocket, c.kit.Image(tarball))
		if out, err := host.Run(exec.CommandContext(ctx, args[0], args[1:]...)); err != nil {
			return fmt.Errorf("load the image %s: %w: %s", tarball, err, out)
		}
	}
	c.journal.add(fmt.Sprintf("%s is a stand-in here: %s from Debian, bash and busybox", image.StandIn, c.kit.Versions()))
	return nil
}

// nodes starts what pods run on, and waits until they can.
func (c *Cluster) nodes(ctx context.Context) error {
	if c.layout.Nodes == layout.Kwok {
		return c.fakeNodes(ctx)
	}
	c.programs.Start(parts.Kubelet(c.layout, c.kit))
	if err := c.until(ctx, "kubelet", "the node is not ready", c.nodeReady(c.layout.NodeName(), c.start)); err != nil {
		return err
	}
	c.journal.add("the node is ready")
	if !c.kit.Complete(c.layout) {
		c.journal.add("DNS and the addresses of Services start later")
		return nil
	}
	return c.complete(ctx)
}

// The addOns are the programs that the first task can do without.
type addOns struct {
	mu         sync.Mutex
	dns, proxy bool // started
	foreign    bool // the addresses of Services are those of another cluster
}

// complete starts the add-ons that do not run yet, and waits until they are ready.
func (c *Cluster) complete(ctx context.Context) error {
	if c.layout.Nodes != layout.Kubelet {
		return nil
	}
	if !c.kit.Complete(c.layout) {
		return errors.New("the sources changed since this cluster started, so that its programs for DNS and Services are missing; run down, then up")
	}
	c.addOns.mu.Lock()
	defer c.addOns.mu.Unlock()
	if !c.addOns.dns {
		c.programs.Start(parts.CoreDNS(c.layout, c.kit))
		c.addOns.dns = true
	}
	if c.layout.Proxies() {
		if err := c.proxy(ctx); err != nil {
			return err
		}
	}
	return c.until(ctx, "coredns", "DNS does not answer", c.dnsReady)
}

// proxy starts kube-proxy if it does not run yet, and waits until it is ready. If another
// cluster on this machine has a kube-proxy, this cluster goes without.
func (c *Cluster) proxy(ctx context.Context) error {
	if !c.addOns.proxy && !c.addOns.foreign {
		if err := c.startProxy(ctx); err != nil {
			return err
		}
	}
	if c.addOns.foreign {
		return nil
	}
	return c.until(ctx, "kube-proxy", "kube-proxy is not ready", func(ctx context.Context) error {
		return c.api.healthy(ctx, "http://"+c.layout.Addr(layout.ProxyHealth)+"/healthz")
	})
}

func (c *Cluster) startProxy(ctx context.Context) error {
	err := host.NFT(c.kit.NFT()).ClaimProxy(ctx, c.layout)
	if errors.Is(err, host.ErrForeignProxy) {
		c.addOns.foreign = true
		c.journal.add("warning: " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	err = c.until(ctx, "kube-apiserver", "no namespace for the service kubernetes", func(ctx context.Context) error {
		return c.api.create(ctx, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", parts.KubernetesEndpoint(c.layout))
	})
	if err != nil {
		return err
	}
	c.programs.Start(parts.Proxy(c.layout, c.kit))
	c.addOns.proxy = true
	return nil
}
