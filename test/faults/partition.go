package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

const roundLength = 45 * time.Second // approximate duration of one cut and its healing

// partition: the network separates a NATS node and a server from the others, in a different
// way in each round (-rounds), while clients use all servers.
func partition(ctx context.Context, p *performance) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	p.load.Allow(0)
	const endless = 200 // of the Jobs that may exist, see the flags of the scenario
	background.Go(func() { p.load.Run(working, p.tasks, load.EndingMix(endless)) })
	background.Go(func() { p.limitWork(working) })
	probing, quiet := context.WithCancel(working)
	for i, s := range p.Servers {
		background.Go(func() { p.readAll(probing, s, i) })
		background.Go(func() { p.submitAll(probing, s, i) })
	}
	var err error
	for round := 0; round < p.rounds && err == nil; round++ {
		if err = p.cut(ctx, round); err != nil {
			err = fmt.Errorf("round %d: %w", round, err)
		}
	}
	quiet()
	p.load.Allow(-1)
	if err != nil {
		stop()
	}
	background.Wait()
	return err
}

// limitWork spreads the submissions of the clients over the rounds.
func (p *performance) limitWork(ctx context.Context) {
	const steps = 4 // per second
	tick := time.NewTicker(time.Second / steps)
	defer tick.Stop()
	all := p.rounds * int(roundLength/time.Second) * steps
	for i := 1; i <= all; i++ {
		select {
		case <-tick.C:
			p.load.Allow(p.tasks * i / all)
		case <-ctx.Done():
			return
		}
	}
}

// cut runs one round.
func (p *performance) cut(ctx context.Context, round int) error {
	ctx, cancel := testkit.WithPatience(ctx, p.patience)
	defer cancel()
	c, err := p.plan(ctx, round)
	if err != nil {
		return err
	}
	free, stopAll, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	defer free()
	span := check.Span{From: p.Recorder.Now()}
	err = c.divide()
	if err == nil {
		err = c.last(ctx, stopAll, free)
	}
	span.To = p.Recorder.Now()
	p.expect.Partitions = append(p.expect.Partitions, c.partition(span))
	err = errors.Join(err, p.Heal())
	if err != nil {
		return err
	}
	p.faults++
	healing := time.Now()
	if err := errors.Join(p.AwaitNATS(ctx), p.noticed(ctx)); err != nil {
		return err
	}
	p.say("round %d of %d: %s of %s for %s, all current %s later", round+1, p.rounds, c.mode, c.who(),
		(span.To - span.From).Round(100*time.Millisecond), time.Since(healing).Round(100*time.Millisecond))
	return nil
}

// noticed waits until every server has answered a read with a read barrier.
func (p *performance) noticed(ctx context.Context) error {
	for _, s := range p.Servers {
		at := load.Target{Name: s.Name, URL: s.URL}
		for range 2 {
			err := testkit.Until(ctx, s.Name+" to look at the log", func() (string, bool) {
				op := p.load.As("nobody").List(ctx, at, load.Narrow{Limit: 1})
				return op.Err + op.Stale, op.OK() && op.Stale == ""
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// plan decides what a round does, and moves the leaders where the round needs them.
func (p *performance) plan(ctx context.Context, round int) (*cut, error) {
	c := &cut{performance: p}
	c.choose(round)
	leader, others, err := p.Leader(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case round%12 == 10: // a node alone, see below
	case round%6 == 5:
		c.server = others[p.rand.IntN(len(others))]
	case round%8 == 6:
		c.server, c.fall = leader, true
	case round%4 == 3:
		c.server, c.usurp = others[p.rand.IntN(len(others))], true
	default:
		c.server = leader
		c.short = round%7 == 4
		c.trap = !c.short
	}
	if c.how.Rate > 0 { // the leader of the log stays where it is, and every write waits for the slow link
		c.short, c.trap, c.usurp, c.fall = true, false, false, false
	}
	for i, s := range p.Servers {
		if s == c.server {
			c.node = p.Nodes[i%len(p.Nodes)]
		} else {
			c.others = append(c.others, s)
		}
	}
	if c.node == nil {
		c.node = p.Nodes[len(p.Nodes)-1]
	}
	for i, s := range p.Servers {
		home := p.Nodes[i%len(p.Nodes)]
		if s != c.server && home == c.node {
			home = p.Nodes[(i+1)%len(p.Nodes)]
		}
		if s.Node(p.Rig) != home {
			err = errors.Join(err, p.Attach(ctx, s, home))
		}
	}
	if err == nil && (c.server != nil || round%2 == 0) {
		err = p.LeadLog(ctx, c.node)
	}
	return c, errors.Join(err, p.AwaitNATS(ctx), p.noticed(ctx))
}

// choose chooses how the links fail.
func (c *cut) choose(round int) {
	switch round % 5 {
	case 0:
		c.mode, c.how = "reset", rig.Division{Cut: true}
	case 1:
		c.mode, c.how = "black hole", rig.Division{Out: true, In: true}
	case 2:
		c.mode, c.how = "nothing leaves", rig.Division{Out: true}
		if round/5%2 == 1 {
			c.mode, c.how = "nothing arrives", rig.Division{In: true}
		}
	case 3:
		c.mode, c.how, c.oneLink = "one link of two", rig.Division{Cut: true}, true
		if round/5%2 == 1 {
			c.how = rig.Division{Out: true, In: true}
		}
	case 4:
		c.mode, c.how = "slow links", rig.Division{Rate: 20 << c.rand.IntN(4) << 10, Latency: time.Duration(100+c.rand.IntN(1500)) * time.Millisecond}
	}
}
