// Command faults runs the real servers on a real cluster with many clients, injects faults
// according to a seed, and records all requests, answers and objects. Then the command
// checks from the record alone that every promise was kept. The command exits with 1 if a
// promise was broken, and keeps the record.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

// options are the flags of the command line.
type options struct {
	scenario   string
	seed       uint64
	kubeconfig string
	keep       bool
	bugs       string
	rounds     int // 0 means the number of the scenario; the same for tasks
	tasks      int
	patience   time.Duration // how long it may take that one more task comes to rest, before all count as hung
}

func (o *options) define(f *flag.FlagSet) {
	f.StringVar(&o.scenario, "scenario", "all", "what to do, see below")
	f.Uint64Var(&o.seed, "seed", 0, "of all choices; 0 draws one")
	f.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "of a cluster with fake nodes, as its administrator; it should be a local one, whose audit log lies beside it")
	f.BoolVar(&o.keep, "keep", false, "keep the run's directory also if nothing was violated")
	f.StringVar(&o.bugs, "bugs", "", "build servers with these seeded bugs, by name or all, and require that each is caught")
	f.IntVar(&o.rounds, "rounds", 0, "faults, one after the other (0: the scenario's own number, as for tasks)")
	f.IntVar(&o.tasks, "tasks", 0, "submissions")
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "go run ./test/faults [flags]\n\nScenarios:\n")
		for _, s := range scenarios {
			fmt.Fprintf(f.Output(), "  %-12s %s\n", s.name, s.help)
		}
		fmt.Fprintf(f.Output(), "\nFlags:\n")
		f.PrintDefaults()
	}
}

func main() {
	rig.RunNode()
	testkit.Main("faults", run)
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	o := options{patience: 5 * time.Minute}
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	o.define(f)
	if err := f.Parse(arguments); err != nil {
		return err
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	if o.kubeconfig == "" {
		return errors.New("no cluster: name one with -kubeconfig or KUBECONFIG; make faults starts one")
	}
	if o.bugs != "" {
		return catch(ctx, o, out)
	}
	s, err := find(o.scenario)
	if err != nil {
		return err
	}
	server, cleanup, err := build(ctx, nil, out)
	if err != nil {
		return err
	}
	defer cleanup()
	found, err := perform(ctx, o, s, server, out)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%d violations with -scenario %s -seed %d", len(found), s.name, o.seed)
	}
	return nil
}

func find(name string) (scenario, error) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	if i < 0 {
		var names []string
		for _, s := range scenarios {
			names = append(names, s.name)
		}
		return scenario{}, fmt.Errorf("-scenario: %q is not one of %s", name, strings.Join(names, ", "))
	}
	return scenarios[i], nil
}

// build builds k8s-cli-server in a new directory. overlay, if not nil, replaces sources, as
// `go build -overlay` does.
func build(ctx context.Context, overlay map[string]string, out io.Writer) (path string, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "k8s-cli-faults-bin-")
	if err != nil {
		return "", nil, fmt.Errorf("build: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	fmt.Fprintln(out, "building k8s-cli-server")
	if path, err = rig.BuildServer(ctx, dir, overlay); err != nil {
		cleanup()
	}
	return path, cleanup, err
}
