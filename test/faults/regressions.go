package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

// The regressions are scenarios that provoke one rare order of events on purpose.

const some = 4 // concurrent tasks in a regression

// repeat calls do -rounds times.
func (p *performance) repeat(ctx context.Context, do func(context.Context, int) error) error {
	for round := range p.rounds {
		ctx, cancel := testkit.WithPatience(ctx, p.patience)
		err := do(ctx, round)
		cancel()
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		p.faults++
		p.say("round %d of %d", round+1, p.rounds)
	}
	return nil
}

// hand submits some endless tasks to a server and returns their ids. The tasks are stopped
// when all other tasks have ended.
func (p *performance) hand(ctx context.Context, to *rig.Server) (ids []string, a *load.Actor, err error) {
	a = p.load.Actor(p.rand.IntN(len(load.Users)))
	a = a.Only(load.Target{Name: to.Name, URL: to.URL})
	for range some {
		id, ok := a.Hand(ctx, load.Endless(a), true)
		if !ok {
			return nil, nil, fmt.Errorf("a task was not accepted: %w", context.Cause(ctx))
		}
		ids = append(ids, id)
	}
	return ids, a, nil
}

// late: a leader is killed while its creations of Jobs are in flight. The tasks are stopped,
// and the next leader finds no Job to delete. Then the creations arrive.
func late(ctx context.Context, p *performance) error {
	p.expect.Held = true
	return p.repeat(ctx, func(ctx context.Context, _ int) error {
		leader, others, err := p.Leader(ctx)
		if err != nil {
			return err
		}
		held := &rig.Fault{Name: "creations under way", Match: rig.On(http.MethodPost, "jobs"), Hold: true}
		arrive := leader.Proxy.Put(held)
		defer arrive()
		ids, a, err := p.hand(ctx, others[0])
		if err != nil {
			return err
		}
		if err := leader.Proxy.Hits(ctx, held, some); err != nil {
			return err
		}
		looks := &rig.Fault{Name: "the next leader looks", Match: rig.On(http.MethodGet, "jobs")}
		defer others[0].Proxy.Put(looks)()
		leader.Kill()
		p.kills++
		for _, s := range others[1:] { // so that others[0] becomes the leader
			s.Kill()
		}
		for _, id := range ids {
			a.StopIt(ctx, id)
		}
		if err := others[0].Proxy.Hits(ctx, looks, some); err != nil {
			return err
		}
		if err := testkit.Pause(ctx, time.Second); err != nil { // time for the fact that nothing is left
			return err
		}
		arrive()
		return p.Each(append(others[1:], leader), func(s *rig.Server) error { return s.Start(ctx) })
	})
}

// deposed: a leader loses its Lease while the answers to its creations are in flight. The
// next leader adopts what the former leader created.
func deposed(ctx context.Context, p *performance) error {
	return p.repeat(ctx, func(ctx context.Context, _ int) error {
		leader, others, err := p.Leader(ctx)
		if err != nil {
			return err
		}
		muted := &rig.Fault{Name: "answers under way", Match: rig.On(http.MethodPost, "jobs"), Mute: true}
		lift := leader.Proxy.Put(muted)
		defer lift()
		if _, _, err := p.hand(ctx, others[0]); err != nil {
			return err
		}
		if err := leader.Proxy.Hits(ctx, muted, some); err != nil {
			return err
		}
		defer leader.Proxy.Put(&rig.Fault{Name: "no Lease", Match: rig.On("", "leases"), Code: http.StatusServiceUnavailable})()
		return awaitLeader(ctx, others)
	})
}

// claims: creations of claims reach the API server with a delay, and tasks mount the claims
// immediately.
func claims(ctx context.Context, p *performance) error {
	for _, s := range p.Servers {
		defer s.Proxy.Put(&rig.Fault{Name: "claims come late", Match: rig.On(http.MethodPost, "persistentvolumeclaims"), Delay: 500 * time.Millisecond})()
	}
	p.faults++
	p.load.Run(ctx, p.tasks, load.Mounting)
	return nil
}
