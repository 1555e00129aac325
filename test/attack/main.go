// Command attack runs hundreds of attacks on the real server and the real CLI: requests that
// two parsers read differently, forged tokens, tasks of other users, tasks that try to reach
// the node, malicious servers. Each attack defines the right answer. The command prints one
// line for each group and each attack that got through, and exits with 1 if there is one.
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
	"time"

	"k8s-cli/test/testkit"
)

// options are the flags of the command line.
type options struct {
	kubeconfig string
	programs   string
	only       string
	verbose    bool
}

func (o *options) define(f *flag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of a cluster that may be written to; its nodes may be fake")
	f.StringVar(&o.programs, "programs", "", "directory of k8s-cli and k8s-cli-server (default: they are built)")
	f.StringVar(&o.only, "only", "", "run only attacks whose GROUP/NAME matches this regular expression")
	f.BoolVar(&o.verbose, "v", false, "print every attack")
}

func main() { testkit.Main("attack", run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("attack", flag.ContinueOnError)
	o.define(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "k8s-cli-attack-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.programs == "" {
		o.programs = filepath.Join(dir, "bin")
		fmt.Fprintln(out, "building the server and the CLI")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.programs+"/", "./cmd/...")
		build.Stdout, build.Stderr = out, out
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the programs: %w", err)
		}
	}
	w, err := newEnvironment(o, dir)
	if err != nil {
		return err
	}
	began := time.Now()
	done, err := perform(ctx, w, o.only, func(o outcome) { report(out, w, o) })
	err = errors.Join(err, w.close())
	if err != nil {
		return err
	}
	return summarize(out, done, time.Since(began))
}

// report prints an outcome if the answer was wrong, or if all outcomes are wanted.
func report(out io.Writer, w *environment, o outcome) {
	switch {
	case !o.held:
		says := "GOT THROUGH"
		if o.attack.control {
			says = "DOES NOT WORK"
		}
		fmt.Fprintf(out, "%s %s/%s\n  sent: %s\n  want: %s\n  got:  %s\n", says, o.group, o.attack.name, brief(o.sent), o.attack.want, brief(o.got))
	case w.options.verbose:
		fmt.Fprintf(out, "held %s/%s: %s\n", o.group, o.attack.name, brief(o.got))
	}
}

// summarize prints a line for each group and a total. The error says that an attack got
// through.
func summarize(out io.Writer, done []outcome, took time.Duration) error {
	var total count
	for _, g := range groups() {
		var c count
		for _, o := range done {
			if o.group == g.name {
				c.add(o)
				total.add(o)
			}
		}
		if c.attacks+c.controls > 0 {
			fmt.Fprintf(out, "%-12s %s\n", g.name, c)
		}
	}
	fmt.Fprintf(out, "%s in %s\n", total, took.Round(time.Second))
	if total.through+total.broken > 0 {
		return fmt.Errorf("%d attacks got through, and %d of what has to work does not", total.through, total.broken)
	}
	return nil
}

// A count summarizes outcomes.
type count struct{ attacks, through, controls, broken int }

func (c *count) add(o outcome) {
	switch {
	case o.attack.control && !o.held:
		c.broken++
		fallthrough
	case o.attack.control:
		c.controls++
	case !o.held:
		c.through++
		fallthrough
	default:
		c.attacks++
	}
}

// String returns a line such as "312 attacks, 0 got through; 9 controls, 0 broken".
func (c count) String() string {
	return fmt.Sprintf("%4d attacks, %3d got through; %3d controls, %d broken", c.attacks, c.through, c.controls, c.broken)
}
