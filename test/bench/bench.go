package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/load"
	"k8s-cli/test/bench/rig"
)

// A bench runs the measurements.
type bench struct {
	options
	only  *regexp.Regexp
	place *rig.Place
	out   io.Writer
	began time.Time

	child   *baseline.Process
	figures []*figure
}

// few is the size of the small population, to which the large one is compared.
const few = 1000

// image is the image of the tasks. No node ever pulls the image.
const image = "python:3.13-slim"

// sample is the task that every user submits. body is the same task as a request body.
var sample = task.Spec{
	Name: "train", NumNodes: 1, Resources: task.Resources{CPUs: "1", Memory: "2"},
	Envs:  map[string]string{"EPOCHS": "10", "LEARNING_RATE": "0.01", "SEED": "42"},
	Setup: "pip install --quiet numpy",
	Run:   "python train.py --epochs $EPOCHS --lr $LEARNING_RATE --seed $SEED\npython evaluate.py --checkpoint last\n",
}

const body = `{"name":"train","num_nodes":1,"resources":{"cpus":"1","memory":"2"},"envs":{"EPOCHS":"10","LEARNING_RATE":"0.01","SEED":"42"},` +
	`"setup":"pip install --quiet numpy","run":"python train.py --epochs $EPOCHS --lr $LEARNING_RATE --seed $SEED\npython evaluate.py --checkpoint last\n"}`

// A group is a set of figures with the same preparation.
type group struct {
	keys    []string // keys of its figures
	measure func(context.Context) error
}

// measure measures all requested figures and reports at the end which figures failed.
func (b *bench) measure(ctx context.Context) error {
	var err error
	if b.child, err = baseline.Start(ctx); err != nil {
		return err
	}
	defer b.child.Close()
	for _, g := range []group{
		{[]string{"submit"}, b.submits},
		{[]string{"submit-one"}, b.submitsOfOne},
		{[]string{"batch"}, b.batches},
		{[]string{"create"}, b.creations},
		{[]string{"lone"}, b.loneTasks},
		{[]string{"status", "list", "page", "unchanged", "growth", "memory", "asked", "ready", "ready-again"}, b.reads},
	} {
		if !b.wants(g.keys...) {
			continue
		}
		if err := g.measure(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.say("%s: %v", strings.Join(g.keys, ", "), err)
			b.figures = append(b.figures, &figure{Key: g.keys[0], Name: strings.Join(g.keys, ", "), Failure: err.Error()})
		}
	}
	return b.end()
}

// end prints the figures.
func (b *bench) end() error {
	fmt.Fprintf(b.out, "\n%d processors, everything on this machine, medians of %d rounds of %d s, %d tasks\n\n", runtime.NumCPU(), b.rounds, b.seconds, b.tasks)
	print(b.out, b.figures)
	failed := 0
	for _, f := range b.figures {
		if f.Failure != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d figures could not be measured", failed)
	}
	return nil
}

// wants reports whether one of these figures was requested.
func (b *bench) wants(keys ...string) bool {
	for _, k := range keys {
		if b.only.MatchString(k) {
			return true
		}
	}
	return false
}

// add adds a figure if it was requested. A figure with an error has failed.
func (b *bench) add(f *figure, err error) {
	if !b.wants(f.Key) {
		return
	}
	if err != nil {
		f.Failure = err.Error()
	}
	f.settle()
	b.figures = append(b.figures, f)
	b.say("%s", f)
}

func (b *bench) say(format string, v ...any) {
	fmt.Fprintf(b.out, "%6.0fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, v...))
}

// dir returns a new directory for the data of a server.
func (b *bench) dir(what string) (string, error) {
	dir, err := os.MkdirTemp(b.place.Work, what+"-")
	if err != nil {
		return "", fmt.Errorf("a directory for the log: %w", err)
	}
	return dir, nil
}

// fresh calls use with a new server without tasks, in a new namespace. Then fresh kills the
// server, so that the server does not finish its work. The server has these additional flags.
func (b *bench) fresh(ctx context.Context, what string, use func(s *rig.Server, namespace string) error, flags ...string) error {
	dir, err := b.dir(what)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	namespace, err := b.place.Namespace(ctx, what)
	if err != nil {
		return err
	}
	defer func() { _ = b.place.Clear(context.WithoutCancel(ctx), namespace) }()
	s, err := b.place.Serve(ctx, rig.Settings{Program: b.server, Namespace: namespace, DataDir: filepath.Join(dir, "log"), Flags: flags})
	if err != nil {
		return err
	}
	defer s.Kill()
	return use(s, namespace)
}

// paused is fresh with a paused API server, so that the server applies nothing. The API
// server resumes after the server was killed.
func (b *bench) paused(ctx context.Context, what string, use func(*rig.Server) error) error {
	defer b.place.Resume() // deferred first, so that it runs after the server was killed
	return b.fresh(ctx, what, func(s *rig.Server, _ string) error {
		if err := b.place.Pause(); err != nil {
			return err
		}
		err := use(s)
		s.Kill()
		b.place.Resume()
		return err
	})
}

// measured is the results of one side of a figure under load.
type measured struct {
	rates     []float64
	p50, p99  []time.Duration
	cpu       time.Duration
	requests  int
	allocated int64
}

// load runs the load s once and adds the results. pid is the process under load.
func (m *measured) load(ctx context.Context, s load.Spec, pid int) error {
	before := rig.CPU(pid)
	r, err := load.Run(ctx, s)
	if err != nil {
		return err
	}
	m.cpu += rig.CPU(pid) - before
	m.requests += r.Requests
	m.rates = append(m.rates, r.Rate)
	m.p50, m.p99 = append(m.p50, r.P50), append(m.p99, r.P99)
	return nil
}

func (m *measured) latency() *quantiles { return &quantiles{median(m.p50), median(m.p99)} }

func (m *measured) cost() *cost {
	n := float64(m.requests)
	return &cost{CPU: float64(m.cpu.Microseconds()) / n, Allocated: float64(m.allocated) / n}
}

// fill sets both sides of a figure of rates.
func (f *figure) fill(ours, bare *measured) {
	if len(ours.rates) == 0 || len(bare.rates) == 0 {
		return
	}
	f.OursRounds, f.BareRounds = ours.rates, bare.rates
	f.Latency, f.BareLatency = ours.latency(), bare.latency()
	f.PerRequest, f.BareCost = ours.cost(), bare.cost()
}
