package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	sizes
	load   *load.Load
	ear    *eventListener
	rand   *rand.Rand // for the schedule; each client has its own
	expect check.Config
	out    io.Writer

	begin    time.Time
	kills    int
	faults   int
	patience time.Duration
	forgets  bool
}

// perform runs a scenario and checks the recorded history.
func perform(ctx context.Context, o options, s scenario, server string, out io.Writer) ([]check.Violation, error) {
	dir, err := os.MkdirTemp("", "k8s-cli-faults-"+s.name+"-")
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	size := o.or(s.sizes)
	fmt.Fprintf(out, "%s: seed %d, %d servers, %d NATS nodes, %d clients, in %s\n", s.name, o.seed, size.servers, size.nodes, size.clients, dir)
	p := &performance{
		sizes: size, out: out, begin: time.Now(), patience: o.patience, forgets: s.forgets,
		rand: rand.New(rand.NewPCG(o.seed, 0)),
		expect: check.Config{
			Meddled: map[string]bool{}, Foreign: map[string]bool{}, Steady: s.steady, Replicas: max(size.nodes, 1), MaxJobs: s.maxJobs(),
		},
	}
	p.Rig, err = rig.New(ctx, rig.Config{
		Dir: dir, Kubeconfig: o.kubeconfig, Server: server, Servers: size.servers, Nodes: size.nodes, Flags: s.flags, Wires: s.wires, Links: s.links,
		Tail: size.nodes > 0 && !s.forgets,
	})
	if err != nil {
		return nil, fmt.Errorf("%w (kept in %s)", err, dir)
	}
	defer p.Close()
	if s.cuts && size.nodes > 0 {
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
	if err = errors.Join(err, rest, failed, p.note(dir)); err != nil {
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

// or returns s, with the values of own for zero fields.
func (s sizes) or(own sizes) sizes {
	for _, f := range []struct{ given, own *int }{
		{&s.servers, &own.servers}, {&s.nodes, &own.nodes}, {&s.rounds, &own.rounds}, {&s.tasks, &own.tasks}, {&s.clients, &own.clients}, {&s.copies, &own.copies},
	} {
		if *f.given == 0 {
			*f.given = *f.own
		}
	}
	if s.away == 0 {
		s.away = own.away
	}
	if s.servers > 1 && s.nodes == 0 {
		s.nodes = 3
	}
	return s
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

const expectFile = "expect.json" // beside the history; the check.Config of the scenario

// note stores the check.Config beside the history.
func (p *performance) note(dir string) error {
	raw, err := json.Marshal(p.expect)
	if err != nil {
		return fmt.Errorf("keep what is expected: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, expectFile), raw, 0o600); err != nil {
		return fmt.Errorf("keep what is expected: %w", err)
	}
	return nil
}

// again checks a stored history.
func again(dir string, out io.Writer) error {
	h, err := history.Read(dir)
	if err != nil {
		return err
	}
	var expect check.Config
	raw, err := os.ReadFile(filepath.Join(dir, expectFile))
	if err == nil {
		err = json.Unmarshal(raw, &expect)
	}
	if err != nil {
		return fmt.Errorf("what was expected: %w", err)
	}
	found := check.Check(h, expect)
	show(out, found)
	if len(found) > 0 {
		return fmt.Errorf("%d violations in %s", len(found), filepath.Base(dir))
	}
	return nil
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
	fmt.Fprintf(p.out, "%s seed=%d: %d tasks, %d operations (%d refused with 503, %d unanswered, %d marked stale), %d faults, %d kills, %d takeovers, %d second Jobs taken back, %d changes of phase told, %d violations, write-then-read %d: p50 %s p99 %s, %.1f s\n",
		name, seed, f.Tasks, f.Operations, f.Refused, f.Unanswered, f.Stale, p.faults, p.kills, p.Takeovers(), f.Second, check.Changes(h), len(found),
		f.Pairs, f.Half.Round(10*time.Microsecond), f.Worst.Round(10*time.Microsecond), time.Since(p.begin).Seconds())
}
