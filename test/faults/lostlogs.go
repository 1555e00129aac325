package main

import (
	"context"
	"errors"
	"fmt"

	"k8s-cli/test/faults/load"
	"k8s-cli/test/testkit"
)

// The scenarios in which the log is lost. Commands that were accepted before may be lost
// with the log. The objects of the cluster must not be lost, and running servers must notice
// the loss.

// relog: the log is purged, or deleted and created again, while all servers run. One server
// is restarted, so that it knows only the new log.
func relog(ctx context.Context, p *performance) error {
	p.expect.LostLog = true
	return p.repeat(ctx, func(ctx context.Context, round int) error {
		p.load.Run(ctx, p.tasks, load.Lasting)
		if err := p.applied(ctx); err != nil {
			return err
		}
		if err := p.ReplaceLog(ctx, round%2 == 0); err != nil {
			return err
		}
		if err := p.noticed(ctx); err != nil {
			return err
		}
		p.load.Run(ctx, p.tasks, load.Lasting)
		last := p.Servers[len(p.Servers)-1]
		last.Kill()
		p.kills++
		if err := last.Start(ctx); err != nil {
			return err
		}
		return errors.Join(p.applied(ctx), p.adopted(ctx))
	})
}

// lostlog: a server is killed and restarted without its log. Only the objects of the cluster
// remain.
func lostlog(ctx context.Context, p *performance) error {
	p.expect.LostLog = true
	return p.repeat(ctx, func(ctx context.Context, _ int) error {
		p.load.Run(ctx, p.tasks, load.Lasting)
		if err := p.applied(ctx); err != nil {
			return err
		}
		s := p.Servers[0]
		s.Kill()
		p.kills++
		if err := p.LoseLog(s); err != nil {
			return err
		}
		if err := s.Start(ctx); err != nil {
			return err
		}
		return p.adopted(ctx)
	})
}

// adopted waits until all servers have a task for every Job of the cluster.
func (p *performance) adopted(ctx context.Context) error {
	return testkit.Until(ctx, "a task for every Job", func() (string, bool) {
		left, err := p.Cluster.Left(ctx)
		if err != nil {
			return err.Error(), false
		}
		for _, s := range p.Servers {
			op := p.load.As("nobody").Open(ctx, load.Target{Name: s.Name, URL: s.URL}, "")
			known := map[string]bool{}
			for _, t := range op.Seen {
				known[t.ID] = true
			}
			for _, l := range left {
				if l.Kind == "Job" && !known[l.ID] {
					return fmt.Sprintf("Job %s is unknown to %s", l.Name, s.Name), false
				}
			}
		}
		return "", true
	})
}

// noticed waits until every server has answered a read with a read barrier, and therefore
// has found the new log. Commands that were accepted before may be lost with the former log.
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

// applied waits until these tasks have Jobs. Without ids, applied waits for all accepted
// tasks.
func (p *performance) applied(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		for _, t := range p.load.Tasks() {
			ids = append(ids, t.ID)
		}
	}
	return testkit.Until(ctx, "a Job for every task", func() (string, bool) {
		left, err := p.Cluster.Left(ctx)
		if err != nil {
			return err.Error(), false
		}
		has := map[string]bool{}
		for _, l := range left {
			has[l.ID] = has[l.ID] || l.Kind == "Job"
		}
		without := 0
		for _, id := range ids {
			if !has[id] {
				without++
			}
		}
		return fmt.Sprintf("%d have none", without), without == 0
	})
}
