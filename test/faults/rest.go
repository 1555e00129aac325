package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/testkit"
)

const (
	pollInterval  = time.Second // between two reads of all open tasks
	progressPause = 10 * time.Second
)

// rest stops the endless tasks, waits until the system is at rest, and records its final
// state. If the system does not come to rest in time, rest records the state nevertheless,
// and the checker reports the violations.
func (p *performance) rest(ctx context.Context) error {
	if err := p.Heal(); err != nil {
		return err
	}
	for _, s := range p.Servers {
		if s.Runs() {
			continue
		}
		s.Kill() // the scenario failed while the server was paused or killed
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	waiting := p.patient(ctx)
	defer waiting.cancel()
	late := errors.Join(p.stopEndless(waiting), p.awaitOver(waiting), p.awaitClean(waiting))
	if late != nil && waiting.Err() == nil {
		return late
	}
	for _, s := range p.Servers {
		at := load.Target{Name: s.Name, URL: s.URL}
		if err := p.lastLists(ctx, at); err != nil {
			return err
		}
	}
	late = errors.Join(late, p.ear.end(ctx, p)) // the checker reports missing events
	left, err := p.Cluster.Left(ctx)
	if err != nil {
		return err
	}
	for _, l := range left {
		p.Recorder.Left(l)
	}
	late = errors.Join(late, p.specs(ctx), p.Cluster.Audit(), p.Entries(ctx))
	_, err = p.Snapshots(ctx, 10*time.Second)
	return errors.Join(late, err)
}

// specs requests the submissions of some tasks from every server. The entries of these tasks
// may have been removed from the log.
func (p *performance) specs(ctx context.Context) error {
	const some = 100
	tasks := p.load.Tasks()
	rand.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	var wrong error
	for i, t := range tasks[:min(len(tasks), some)] {
		c := client.New(p.Servers[i%len(p.Servers)].URL, t.User)
		spec, err := c.Spec(ctx, t.ID)
		c.Close()
		switch {
		case err != nil:
			wrong = errors.Join(wrong, fmt.Errorf("how task %s was submitted: %w", t.ID, err))
		case spec.Name != t.Name || spec.Run != t.Run:
			wrong = errors.Join(wrong, fmt.Errorf("task %s was submitted as %s (%q), and not as %+v", t.ID, t.Name, t.Run, spec))
		}
	}
	return wrong
}

// A wait is a context that ends when nothing has progressed for some time. A fixed limit
// would not fit, because the duration depends on the number of tasks.
type wait struct {
	context.Context
	cancel func()
	timer  *time.Timer
	most   time.Duration
	what   string
	least  int
}

func (p *performance) patient(ctx context.Context) *wait {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wait{Context: ctx, most: p.patience}
	w.timer = time.AfterFunc(p.patience, func() { cancel(fmt.Errorf("no progress within %s", p.patience)) })
	w.cancel = func() { w.timer.Stop(); cancel(nil) }
	return w
}

// left reports how much is left. A smaller number than before counts as progress.
func (w *wait) left(of string, n int) {
	if w.what == of && n >= w.least {
		return
	}
	w.what, w.least = of, n
	if w.timer.Stop() {
		w.timer.Reset(w.most)
	}
}

// lastLists records the lists of all tasks and volumes of a server.
func (p *performance) lastLists(ctx context.Context, at load.Target) error {
	ctx, cancel := testkit.WithPatience(ctx, time.Minute)
	defer cancel()
	asker := p.load.As("nobody")
	return testkit.Until(ctx, "the last lists of "+at.Name, func() (string, bool) {
		tasks := asker.List(ctx, at, load.Narrow{AllUsers: true, Last: true})
		volumes := asker.Volumes(ctx, at, load.Narrow{AllUsers: true, Last: true})
		return tasks.Err + volumes.Err, tasks.OK() && volumes.OK() && tasks.Stale == "" && volumes.Stale == ""
	})
}

// stopEndless waits until all other tasks have ended, and then stops the endless tasks.
func (p *performance) stopEndless(ctx *wait) error {
	endless := map[string]string{} // users by task id
	for _, t := range p.load.Tasks() {
		if t.Endless {
			endless[t.ID] = t.User
		}
	}
	var open []history.Seen
	err := p.until(ctx, "all tasks but the endless ones to end", func(s history.Seen) bool { return endless[s.ID] == "" }, &open)
	if err != nil {
		return err
	}
	at := load.Target{Name: p.Servers[0].Name, URL: p.Servers[0].URL}
	const atOnce = 32
	for some := range slices.Chunk(open, atOnce) {
		done := make(chan history.Op, len(some))
		for _, s := range some {
			go func() {
				var op history.Op
				for op = p.load.As(s.User).Stop(ctx, at, s.ID); op.Doubtful() && ctx.Err() == nil; {
					op = p.load.As(s.User).Stop(ctx, at, s.ID)
				}
				done <- op
			}()
		}
		for range some {
			if op := <-done; !op.OK() {
				err = fmt.Errorf("stop task %s: %d %s", op.ID, op.Code, op.Err)
			}
		}
	}
	return err
}

func (p *performance) awaitOver(ctx *wait) error {
	var open []history.Seen
	return p.until(ctx, "all tasks to end", func(history.Seen) bool { return true }, &open)
}

// until waits until no open task satisfies matters. Then open holds the other open tasks.
func (p *performance) until(ctx *wait, what string, matters func(history.Seen) bool, open *[]history.Seen) error {
	asker := p.load.As("nobody")
	at := load.Target{Name: p.Servers[0].Name, URL: p.Servers[0].URL}
	said := time.Now()
	return testkit.UntilEvery(ctx, pollInterval, what, func() (string, bool) {
		phases := map[string]int{}
		*open = nil
		waits := 0
		for _, phase := range []string{"pending", "running"} {
			op := asker.Open(ctx, at, phase)
			if !op.OK() || op.Stale != "" {
				return fmt.Sprintf("%d %s %s", op.Code, op.Err, op.Stale), false
			}
			for _, s := range op.Seen {
				*open = append(*open, s)
				if matters(s) {
					waits++
					phases[s.Phase+" "+s.Reason]++
				}
			}
		}
		ctx.left(what, waits)
		if time.Since(said) > progressPause {
			p.say("waiting for %s: %d left", what, waits)
			said = time.Now()
		}
		return fmt.Sprintf("%v", phases), waits == 0
	})
}

// awaitClean waits until the cluster has no objects of stopped tasks and deleted volumes.
func (p *performance) awaitClean(ctx *wait) error {
	asker := p.load.As("nobody")
	at := load.Target{Name: p.Servers[0].Name, URL: p.Servers[0].URL}
	stopped := map[string]bool{}
	op := asker.Open(ctx, at, "stopped")
	if !op.OK() {
		return fmt.Errorf("list what was stopped: %d %s", op.Code, op.Err)
	}
	for _, s := range op.Seen {
		stopped[s.ID] = true
	}
	vols := asker.Volumes(ctx, at, load.Narrow{AllUsers: true})
	if !vols.OK() {
		return fmt.Errorf("list the volumes: %d %s", vols.Code, vols.Err)
	}
	volumes := map[string]bool{}
	for _, v := range vols.Seen {
		volumes[v.ID] = true
	}
	return testkit.Until(ctx, "the cluster to be clean", func() (string, bool) {
		left, err := p.Cluster.Left(ctx)
		if err != nil {
			return err.Error(), false
		}
		dirt, one := 0, ""
		jobs := map[string]bool{}
		for _, l := range left {
			jobs[l.UID] = true
		}
		for _, l := range left {
			if l.Kind == "Job" && stopped[l.ID] || l.Kind == "Pod" && !jobs[l.Owner] || l.Kind == "Claim" && !volumes[l.ID] {
				dirt++
				one = l.Kind + " " + l.Name
			}
		}
		ctx.left("dirt", dirt)
		return fmt.Sprintf("%d left, such as %s", dirt, one), dirt == 0
	})
}
