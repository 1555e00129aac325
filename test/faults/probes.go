package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
)

const (
	readPause   = 50 * time.Millisecond  // between two reads of one server
	submitPause = 500 * time.Millisecond // between two submissions to one server
	atOnce      = 16                     // concurrent submissions
)

// readAll reads recently accepted tasks of all servers from one server, until ctx ends.
func (p *performance) readAll(ctx context.Context, s *rig.Server, n int) {
	a := p.load.Actor(p.clients + n)
	at := load.Target{Name: s.Name, URL: s.URL}
	tick := time.NewTicker(readPause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		t, ok := p.load.Recent(a.Rand)
		switch {
		case !ok:
		case i%10 == 0:
			p.load.As(t.User).List(ctx, at, load.Narrow{Name: t.Name})
		default:
			p.load.As(t.User).Status(ctx, at, t.ID)
		}
	}
}

// submitAll submits tasks to one server until ctx ends, each task once. Each task has a user
// of its own, so that its Jobs do not wait behind older tasks of the same user.
func (p *performance) submitAll(ctx context.Context, s *rig.Server, n int) {
	at := load.Target{Name: s.Name, URL: s.URL}
	tick := time.NewTicker(submitPause)
	defer tick.Stop()
	var under errgroup.Group
	under.SetLimit(atOnce)
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = under.Wait() // no function returns an error
			return
		}
		a := p.load.Actor(1000*(n+1) + i).Only(at)
		a.User = fmt.Sprintf("lone-%d-%d", n, i)
		under.TryGo(func() error {
			load.Once(ctx, a)
			return nil
		})
	}
}

// partitionFigures prints the figures of each partition.
func partitionFigures(out io.Writer, h *history.History, c check.Config) {
	for i, f := range check.Partitions(h, c) {
		fmt.Fprintf(out, "  partition %d: %s, %.1f s, off %v%s: majority marked %.1f s, refused %.1f s, first Job after %.1f s; minority read %d marked, %d unmarked\n",
			i+1, f.Mode, (f.To - f.From).Seconds(), f.Minority, shaken(f), f.Marked.Seconds(), f.Refused.Seconds(), f.FirstJob.Seconds(), f.Old, f.New)
	}
}

func shaken(f check.PartitionFigures) string {
	switch {
	case f.Shaken:
		return " (something was killed)"
	case !f.Apart:
		return " (something passes)"
	}
	return ""
}
