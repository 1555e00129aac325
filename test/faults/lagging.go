package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

const (
	cutsAway    = 5                // compactions of the log while a node is away
	catchUpRate = 6 << 20          // bytes per second while the node catches up
	heavy       = 60 << 10         // bytes of a script
	cutsBack    = 2                // compactions of the log while the node catches up
	storePoll   = time.Second / 4  // between two reads of the list of snapshots
	storeLimit  = 2 * time.Second  // for one of these reads: NATS may be unavailable
	cutWait     = 90 * time.Second // for one compaction of the log
)

// lagging: a NATS node is away while the log is compacted several times, and comes back over
// slow links. While its replicas lag behind, the servers compact the log. In every other round, all
// servers are restarted before, one of them connected to this node, and it leads.
func lagging(ctx context.Context, p *performance) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() { p.watchStores(watching) })
	p.load.Run(ctx, p.tasks, func(ctx context.Context, a *load.Actor) { load.Heavy(ctx, a, heavy) })
	p.say("%d tasks wait, whose scripts are part of every snapshot", p.tasks)
	return p.repeat(ctx, p.lag)
}

// watchStores records the list of snapshots periodically.
func (p *performance) watchStores(ctx context.Context) {
	tick := time.NewTicker(storePoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = p.Snapshots(ctx, storeLimit) // NATS may be unavailable
		case <-ctx.Done():
			return
		}
	}
}

func (p *performance) lag(ctx context.Context, round int) error {
	node := p.Nodes[round%len(p.Nodes)]
	for i, s := range p.Servers {
		if p.Nodes[i%len(p.Nodes)] == node {
			i++
		}
		if err := p.Attach(ctx, s, p.Nodes[i%len(p.Nodes)]); err != nil {
			return err
		}
	}
	restarts := round%2 == 0
	killed := restarts == (round/2%2 == 0)
	var err error
	if killed {
		node.Kill()
		p.kills++
	} else {
		err = p.Divide(rig.Division{In: true, Out: true}, node.Name)
	}
	if err = errors.Join(err, p.cutLog(ctx, cutsAway)); err != nil {
		return err
	}
	p.say("the log was cut %d times while %s was away", cutsAway, node.Name)
	err = p.Divide(rig.Division{Rate: catchUpRate, Latency: time.Millisecond}, node.Name)
	if killed && err == nil {
		err = node.Start()
	}
	if err != nil {
		return err
	}
	if restarts {
		err = p.restartAll(ctx, node)
	}
	return errors.Join(err, p.cutLog(ctx, cutsBack), p.Heal(), p.AwaitNATS(ctx), p.noticed(ctx))
}

// restartAll kills all servers while a node catches up, and starts them again, the first one
// connected to that node. This server therefore leads as soon as it is ready.
func (p *performance) restartAll(ctx context.Context, node *rig.Node) error {
	leader, others, err := p.Leader(ctx)
	if err != nil {
		return err
	}
	all := append(others, leader)
	for _, s := range all {
		s.Kill()
		p.kills++
	}
	for i, s := range all {
		if i == 0 {
			err = p.startAt(ctx, s, node)
		} else {
			err = p.startWhole(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// startAt starts a server that reaches only one node until the server is ready.
func (p *performance) startAt(ctx context.Context, s *rig.Server, node *rig.Node) error {
	var err error
	for i, l := range s.Links {
		if p.Nodes[i] != node {
			err = errors.Join(err, l.Set(testkit.Condition{Cut: true}))
		}
	}
	err = errors.Join(err, p.startWhole(ctx, s))
	for _, l := range s.Links {
		err = errors.Join(err, l.Heal())
	}
	return err
}

// startWhole starts a server and records the tasks that it has as soon as it is ready.
func (p *performance) startWhole(ctx context.Context, s *rig.Server) error {
	began := p.Recorder.Now()
	if err := s.Start(ctx); err != nil {
		return err
	}
	op := p.load.As("nobody").List(ctx, load.Target{Name: s.Name, URL: s.URL}, load.Narrow{AllUsers: true, Start: began})
	if !op.OK() {
		return fmt.Errorf("the first list of %s: %d %s", s.Name, op.Code, op.Err)
	}
	return nil
}

// cutLog submits large tasks until the log was compacted this many times.
func (p *performance) cutLog(ctx context.Context, times int) error {
	filler := p.load.Actor(p.clients + 100)
	for range times {
		var first uint64
		ctx, cancel := context.WithTimeoutCause(ctx, cutWait, fmt.Errorf("not within %s", cutWait))
		err := testkit.UntilEvery(ctx, 10*time.Millisecond, "the log to be cut", func() (string, bool) {
			now, err := p.Snapshots(ctx, storeLimit)
			switch {
			case err != nil:
				return err.Error(), false
			case first == 0:
				first = now.First
			case now.First > first:
				return "", true
			}
			load.Large(ctx, filler, heavy)
			return fmt.Sprintf("it begins with entry %d, the snapshots end with %v", now.First, now.Seqs), false
		})
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
