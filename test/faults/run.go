package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
)

// logCapacity is small, so that the log is compacted often: a snapshot is due after an
// eighth of it.
const logCapacity = 4 << 20

// A performance is one run of a scenario.
type performance struct {
	*rig.Rig
	sizes  // of the scenario, or as the flags say
	load   *load.Load
	ear    *eventListener
	rand   *rand.Rand // for the schedule; each client has its own
	expect check.Config
	out    io.Writer

	begin    time.Time
	kills    int
	faults   int
	patience time.Duration
}

// perform runs a scenario and checks the recorded history.
func perform(ctx context.Context, o options, s scenario, server string, out io.Writer) ([]check.Violation, error) {
	dir, err := os.MkdirTemp("", "k8s-cli-faults-"+s.name+"-")
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	size := s.sizes
	size.rounds, size.tasks = cmp.Or(o.rounds, size.rounds), cmp.Or(o.tasks, size.tasks)
	fmt.Fprintf(out, "%s: seed %d, %d servers, %d NATS nodes, %d clients, in %s\n", s.name, o.seed, size.servers, size.nodes, size.clients, dir)
	p := &performance{
		sizes: size, out: out, begin: time.Now(), patience: o.patience,
		rand:   rand.New(rand.NewPCG(o.seed, 0)),
		expect: check.Config{Steady: s.steady, MaxJobs: s.maxJobs},
	}
	p.Rig, err = rig.New(ctx, rig.Config{
		Dir: dir, Kubeconfig: o.kubeconfig, Server: server, Servers: size.servers, Nodes: size.nodes, MaxJobs: s.maxJobs, Links: s.links,
	})
	if err != nil {
		return nil, fmt.Errorf("%w (kept in %s)", err, dir)
	}
	defer p.Close()
	if s.cuts {
		if err := p.LimitLog(ctx, logCapacity); err != nil {
			return nil, fmt.Errorf("%w (kept in %s)", err, dir)
		}
	}
	var targets []load.Target
	for _, server := range p.Servers {
		targets = append(targets, load.Target{Name: server.Name, URL: server.URL})
	}
	p.load = load.New(p.Recorder, o.seed, size.clients, targets)
	defer p.load.Close()

	p.ear = p.listen(ctx)
	defer p.ear.cancel()
	err = s.run(ctx, p)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted; what there is was kept in %s", dir)
	}
	rest := p.rest(ctx) // also after an error, because the history may show the cause
	found, h, failed := p.judge()
	if err = errors.Join(err, rest, failed); err != nil {
		found = append(found, check.Violation{Rule: check.Unfinished, Text: err.Error()})
	}
	if h != nil {
		p.summary(s.name, o.seed, h, found)
	}
	if len(found) == 0 && !o.keep {
		_ = os.RemoveAll(dir)
	} else {
		fmt.Fprintf(out, "kept: %s\n", dir)
	}
	return found, nil
}

// judge checks the history, which is complete now.
func (p *performance) judge() ([]check.Violation, *history.History, error) {
	h, err := p.Recorder.Close()
	if err != nil {
		return nil, nil, err
	}
	found := check.Check(h, p.expect)
	for _, line := range p.Trouble() {
		found = append(found, check.Violation{Rule: check.Crash, Text: line})
	}
	return found, h, nil
}

const shown = 4 // violations shown for each rule

// show prints the first violations of each rule, and the number of violations.
func show(out io.Writer, found []check.Violation) {
	rules := map[check.Rule]int{}
	for _, v := range found {
		if rules[v.Rule]++; rules[v.Rule] <= shown {
			fmt.Fprintf(out, "  VIOLATION %s\n", v)
		}
	}
	if len(found) > 0 {
		fmt.Fprintf(out, "  violations by rule: %v\n", rules)
	}
}

// say prints the progress.
func (p *performance) say(format string, args ...any) {
	fmt.Fprintf(p.out, "%6.1fs  %s; accepted %d, faults %d, kills %d, takeovers %d\n",
		time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...), p.load.Accepted(), p.faults, p.kills, p.Takeovers())
}

func (p *performance) summary(name string, seed uint64, h *history.History, found []check.Violation) {
	show(p.out, found)
	partitionFigures(p.out, h, p.expect)
	f := check.Count(h)
	fmt.Fprintf(p.out, "%s seed=%d: %d tasks, %d operations (%d refused with 503, %d unanswered, %d marked stale), %d faults, %d kills, %d takeovers, %d violations, %.1f s\n",
		name, seed, f.Tasks, f.Operations, f.Refused, f.Unanswered, f.Stale, p.faults, p.kills, p.Takeovers(), len(found), time.Since(p.begin).Seconds())
}
