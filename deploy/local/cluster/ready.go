package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/parts"
)

// patience is how long a program may take to become ready. The limit is long, because
// programs start slowly on a small, busy machine.
const patience = 3 * time.Minute

// until polls probe until it returns success. Other processes have no other way to report
// that they are ready.
func (c *Cluster) until(ctx context.Context, program, what string, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		if dying := c.programs.Check(program); dying != nil {
			return dying
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s after %s: %w (see %s)", what, patience, err, c.layout.Log(program))
			}
			return ctx.Err()
		}
	}
}

// nodeReady reports whether the node is ready now. The stored status may be older than the
// last crash, so the node must have reported after start.
func (c *Cluster) nodeReady(name string, start time.Time) func(context.Context) error {
	return func(ctx context.Context) error {
		var node struct {
			Status struct{ Conditions []condition }
		}
		if err := c.api.read(ctx, "/api/v1/nodes/"+name, &node); err != nil {
			return err
		}
		for _, cond := range node.Status.Conditions {
			if cond.Type != "Ready" || cond.Status != "True" {
				continue
			}
			if !cond.LastHeartbeatTime.Before(start.Truncate(time.Second)) {
				return nil
			}
			return c.renewed(ctx, name, start)
		}
		return fmt.Errorf("node %s is not ready", name)
	}
}

type condition struct {
	Type, Status      string
	LastHeartbeatTime time.Time // in whole seconds
}

// renewed reports whether a node has renewed its Lease since start. A node without changes
// reports only by its Lease.
func (c *Cluster) renewed(ctx context.Context, name string, start time.Time) error {
	var lease struct{ Spec struct{ RenewTime time.Time } }
	if err := c.api.read(ctx, parts.NodeLeases+"/"+name, &lease); err != nil {
		return err
	}
	if lease.Spec.RenewTime.Before(start) {
		return fmt.Errorf("node %s was last heard of at %s", name, lease.Spec.RenewTime)
	}
	return nil
}

// accountReady reports whether pods can be created: the controller manager must have
// created the default ServiceAccount.
func (c *Cluster) accountReady(ctx context.Context) error {
	var account struct{}
	return c.api.read(ctx, "/api/v1/namespaces/default/serviceaccounts/default", &account)
}

// dnsReady reports whether DNS resolves the names of Services.
func (c *Cluster) dnsReady(ctx context.Context) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(c.layout.Gateway().String(), "53"))
	}}
	_, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	return err
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	return c.api.healthy(ctx, c.layout.URL(layout.EtcdClient)+"/health")
}

func (c *Cluster) apiReady(ctx context.Context) error {
	return c.api.healthy(ctx, c.api.server+"/readyz")
}
