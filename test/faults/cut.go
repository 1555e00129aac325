package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/rig"
)

// A cut is what one round of the scenario partition does.
type cut struct {
	*performance
	mode   string
	how    rig.Division
	server *rig.Server // divided off; nil for a node alone
	node   *rig.Node   // divided off with it
	others []*rig.Server

	oneLink bool // only one of the node's two routes is cut
	short   bool // too short for a new leader, or just so
	trap    bool // tasks that are stopped meanwhile wait for their Jobs at server
	usurp   bool // the leader on the other side is killed, so that server takes the Lease
	fall    bool // a node on the other side is killed
}

const (
	afterStop = 12 * time.Second // when the API server takes the Jobs of stopped tasks: longer than any may be on its way
	lastPart  = 5 * time.Second  // of a cut, after that

	// Trapped tasks are handed in by and by, so that some of them are tried again just
	// then: the pauses between two attempts become long.
	waves     = 4
	wavePause = 1500 * time.Millisecond
)

func (c *cut) divide() error {
	apart := []string{c.node.Name}
	if c.server != nil {
		apart = append(apart, c.server.Name)
	}
	if c.oneLink {
		other := c.Nodes[(slices.Index(c.Nodes, c.node)+1+c.rand.IntN(2))%len(c.Nodes)]
		return c.DivideLink(c.how, c.node.Name, other.Name)
	}
	return c.Divide(c.how, apart...)
}

func (c *cut) who() string {
	what := c.node.Name + " alone"
	if c.server != nil {
		what = c.node.Name + " and " + c.server.Name
	}
	switch {
	case c.usurp:
		what += ", which takes the Lease"
	case c.fall:
		what += ", and another node dies"
	case c.trap:
		what += ", which holds the Lease"
	}
	return what
}

func (c *cut) partition(span check.Span) check.Partition {
	p := check.Partition{
		Span: span, Mode: c.mode, Shaken: c.usurp || c.fall,
		Apart: c.how.Cut && !c.oneLink || c.how.In && c.how.Out && !c.oneLink,
	}
	if c.server != nil {
		p.Minority = []string{c.server.Name}
	}
	for _, s := range c.others {
		p.Majority = append(p.Majority, s.Name)
	}
	return p
}

// prepare hands in tasks for which the API server takes no Jobs until free is
// called, and that stopAll stops by a server on the other side.
func (c *cut) prepare(ctx context.Context) (free func(), stopAll func(context.Context) error, err error) {
	none := func(context.Context) error { return nil }
	if !c.trap && !c.usurp {
		return func() {}, none, nil
	}
	leader := c.server
	if c.usurp {
		if leader, _, err = c.Leader(ctx); err != nil {
			return nil, nil, err
		}
	}
	f := &rig.Fault{Name: "no Jobs", Match: rig.On(http.MethodPost, "jobs"), Code: http.StatusServiceUnavailable}
	free = leader.Proxy.Put(f)
	var stops []func(context.Context)
	for range waves {
		ids, a, err := c.hand(ctx, c.others[0], true)
		if err != nil {
			return free, nil, err
		}
		stops = append(stops, func(ctx context.Context) {
			for _, id := range ids {
				a.StopIt(ctx, id)
			}
		})
		if err := c.pass(ctx, wavePause); err != nil {
			return free, nil, err
		}
	}
	return free, func(ctx context.Context) error {
		for _, stop := range stops {
			stop(ctx)
		}
		return context.Cause(ctx)
	}, leader.Proxy.Hits(ctx, f, waves*some)
}

// last lets the cut last.
func (c *cut) last(ctx context.Context, stopAll func(context.Context) error, free func()) error {
	switch {
	case c.short:
		return c.pass(ctx, time.Duration(3000+c.rand.IntN(7000))*time.Millisecond)
	case c.trap:
		err := errors.Join(stopAll(ctx), c.pass(ctx, afterStop))
		free()
		return errors.Join(err, c.pass(ctx, lastPart))
	case c.usurp:
		return errors.Join(stopAll(ctx), c.pass(ctx, afterStop), c.takeLease(ctx), c.pass(ctx, lastPart))
	case c.fall:
		other := c.Nodes[(slices.Index(c.Nodes, c.node)+1)%len(c.Nodes)]
		err := c.pass(ctx, 8*time.Second)
		other.Kill()
		c.kills++
		err = errors.Join(err, c.pass(ctx, time.Duration(c.rand.IntN(5000))*time.Millisecond))
		return errors.Join(err, other.Start(), c.pass(ctx, lastPart))
	}
	return c.pass(ctx, 15*time.Second+time.Duration(c.rand.IntN(10_000))*time.Millisecond)
}

// takeLease kills the servers on the other side for so long that the one that is
// divided off may take the Lease.
func (c *cut) takeLease(ctx context.Context) error {
	const longer = 8 * time.Second // than a Lease lasts
	for _, s := range c.others {
		s.Kill()
		c.kills++
	}
	err := c.pass(ctx, longer)
	return errors.Join(err, c.Each(c.others, func(s *rig.Server) error { return c.startWhole(ctx, s) }))
}
