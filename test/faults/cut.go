package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

// A cut is one round of the scenario partition.
type cut struct {
	*performance
	mode   string
	how    rig.Division
	server *rig.Server // the server that is separated; nil to separate only a node
	node   *rig.Node   // the node that is separated
	others []*rig.Server

	oneLink bool // cut only one of the node's two routes
	short   bool // about as long as the election of a new leader takes, or shorter
	trap    bool // server holds creations of Jobs of tasks that are stopped during the cut
	usurp   bool // kill the leader on the other side, so that server takes the Lease
	fall    bool // kill a node on the other side
}

const (
	afterStop = 12 * time.Second // from the stops until the API server accepts Jobs again; longer than any creation may be in flight
	lastPart  = 5 * time.Second  // the rest of a cut

	// The tasks with held Jobs are submitted in several waves. The pauses between two
	// attempts to create a Job grow, so the waves make it likely that some attempts come
	// right after the API server accepts Jobs again.
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

// prepare submits tasks whose Jobs the API server refuses until free is called. stopAll
// stops these tasks at a server on the other side.
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
		ids, a, err := c.hand(ctx, c.others[0])
		if err != nil {
			return free, nil, err
		}
		stops = append(stops, func(ctx context.Context) {
			for _, id := range ids {
				a.StopIt(ctx, id)
			}
		})
		if err := testkit.Pause(ctx, wavePause); err != nil {
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

// last returns at the end of the cut.
func (c *cut) last(ctx context.Context, stopAll func(context.Context) error, free func()) error {
	switch {
	case c.short:
		return testkit.Pause(ctx, time.Duration(3000+c.rand.IntN(7000))*time.Millisecond)
	case c.trap:
		err := errors.Join(stopAll(ctx), testkit.Pause(ctx, afterStop))
		free()
		return errors.Join(err, testkit.Pause(ctx, lastPart))
	case c.usurp:
		return errors.Join(stopAll(ctx), testkit.Pause(ctx, afterStop), c.takeLease(ctx), testkit.Pause(ctx, lastPart))
	case c.fall:
		other := c.Nodes[(slices.Index(c.Nodes, c.node)+1)%len(c.Nodes)]
		err := testkit.Pause(ctx, 8*time.Second)
		other.Kill()
		c.kills++
		err = errors.Join(err, testkit.Pause(ctx, time.Duration(c.rand.IntN(5000))*time.Millisecond))
		return errors.Join(err, other.Start(), testkit.Pause(ctx, lastPart))
	}
	return testkit.Pause(ctx, 15*time.Second+time.Duration(c.rand.IntN(10_000))*time.Millisecond)
}

// takeLease kills the servers on the other side for longer than the Lease lasts, so that the
// separated server may take the Lease.
func (c *cut) takeLease(ctx context.Context) error {
	const longer = 8 * time.Second // than the Lease duration
	for _, s := range c.others {
		s.Kill()
		c.kills++
	}
	err := testkit.Pause(ctx, longer)
	return errors.Join(err, c.Each(c.others, func(s *rig.Server) error { return c.startWhole(ctx, s) }))
}
