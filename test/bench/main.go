// Command bench compares the server with its bare components. The command measures each figure
// for the server and for the bare component in turn, on the same machine. The command needs a
// cluster of deploy/local, preferably without nodes, and wrk.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/rig"
	"k8s-cli/test/testkit"
)

// options are the flags of the command line.
type options struct {
	cluster string
	server  string
	only    string
	tasks   int
	rounds  int
	seconds int

	soak    bool
	minutes int
	share   float64

	latency  bool
	changing int
	rate     float64
}

func (o *options) define(f *flag.FlagSet) {
	f.StringVar(&o.cluster, "cluster", ".local/bench", "directory of the cluster, of deploy/local")
	f.StringVar(&o.server, "server", "bin/k8s-cli-server", "path of the server to measure")
	f.StringVar(&o.only, "only", "", "measure only the figures whose names match this regular expression")
	f.IntVar(&o.tasks, "tasks", 100_000, "tasks of the large population")
	f.IntVar(&o.rounds, "rounds", 5, "how often ours and the baseline are measured in turn, for a median")
	f.IntVar(&o.seconds, "seconds", 3, "how long wrk asks in one round")
	f.BoolVar(&o.soak, "soak", false, "instead of the figures: submit steadily for -minutes; needs a cluster with fake nodes")
	f.IntVar(&o.minutes, "minutes", 30, "of the soak")
	f.Float64Var(&o.share, "share", 0.7, "of the rate that a bare loop reaches, at which the soak submits")
	f.BoolVar(&o.latency, "latency", false, "instead of the figures: how long -changes in the API server take to reach readers and listeners")
	f.IntVar(&o.changing, "changes", 5000, "tasks of the latency, each of which changes once")
	f.Float64Var(&o.rate, "rate", 500, "changes a second")
}

func (o *options) check() error {
	switch {
	case o.tasks < 2*few:
		return fmt.Errorf("-tasks is %d, want at least %d", o.tasks, 2*few)
	case o.rounds < 1 || o.seconds < 1 || o.minutes < 1:
		return errors.New("-rounds, -seconds and -minutes have to be at least 1")
	case o.changing < 1 || o.rate <= 0:
		return errors.New("-changes and -rate have to be more than 0")
	case o.share <= 0 || o.share > 1:
		return fmt.Errorf("-share is %g, want more than 0 and at most 1", o.share)
	}
	return nil
}

func main() { testkit.Main("bench", run) }

func run(ctx context.Context, arguments []string, out io.Writer) error {
	if len(arguments) == 1 && arguments[0] == baseline.Word {
		return baseline.Run(ctx, os.Stdin, out)
	}
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	o.define(f)
	if err := f.Parse(arguments); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if _, err := exec.LookPath("wrk"); err != nil && !o.soak && !o.latency {
		return fmt.Errorf("%w: apt-get install wrk, as make bench does", err)
	}
	work := filepath.Join(o.cluster, "bench")
	if err := os.RemoveAll(work); err != nil { // of an earlier run
		return fmt.Errorf("a directory to work in: %w", err)
	}
	place, err := rig.Join(o.cluster, work)
	if err != nil {
		return err
	}
	defer place.Close()
	if o.soak != (place.Nodes == "kwok") {
		return fmt.Errorf("the cluster in %s has nodes of the kind %q; the figures want none, a soak wants kwok", o.cluster, place.Nodes)
	}
	b := &bench{options: o, only: only, place: place, out: out, began: time.Now()}
	switch {
	case o.soak:
		return b.soakAll(ctx)
	case o.latency:
		return b.latencies(ctx)
	}
	return b.measure(ctx)
}
