// Command suites runs the checks of the project: the gate, which every change passes, or suites
// of tests. A suite that passed is not run again before a file that the suite reads changes.
//
//	suites gate                 lint, unit tests, smoke tests and crash points
//	suites all                  every suite
//	suites changed              the suites that read a file that differs from the commit -base
//	suites features crash ...   these suites
//
// deploy/test.sh contains the commands of each step and each suite. FORCE=1 runs a suite although
// the suite passed on the same files, and the tests of the gate without the test cache of Go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	base := flag.String("base", "main", "commit with which changed compares the files")
	only := flag.String("run", "", "run only the tests that match this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, flag.Args(), *base, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, base, only string) (bool, error) {
	r := &runner{summary: newSummary(os.Stdout), only: only, force: os.Getenv("FORCE") != ""}
	if err := settleTimes(); err != nil {
		fmt.Fprintln(os.Stderr, "suites: the test cache of Go may not serve this checkout:", err)
	}
	t, err := readTree()
	if slices.Equal(names, []string{"gate"}) {
		if err != nil { // for example without git
			fmt.Fprintln(os.Stderr, "suites: the gate runs every step, because the files that a step reads are unknown:", err)
			t = nil
		}
		return r.gate(ctx, t)
	}
	if err != nil {
		return false, err
	}
	chosen, err := choose(t, names, base)
	if err != nil {
		return false, err
	}
	if len(chosen) == 0 {
		fmt.Printf("no suite reads a file that differs from %s\n", base)
		return true, nil
	}
	return r.suites(ctx, t, chosen), nil
}

// choose returns the suites of these names, in the order of the table.
func choose(t *tree, names []string, base string) (chosen []suite, err error) {
	switch {
	case slices.Equal(names, []string{"all"}):
		return suites, nil
	case slices.Equal(names, []string{"changed"}):
		changed, err := changedSince(base)
		if err != nil {
			return nil, err
		}
		for _, s := range suites {
			if slices.ContainsFunc(changed, t.reads(s)) {
				chosen = append(chosen, s)
			}
		}
		return chosen, nil
	}
	for _, s := range suites {
		if i := slices.Index(names, s.name); i >= 0 {
			chosen, names = append(chosen, s), slices.Delete(slices.Clone(names), i, i+1)
		}
	}
	if len(names) > 0 || len(chosen) == 0 {
		return nil, fmt.Errorf("no suite %q; the suites are gate, all, changed, %s", strings.Join(names, " "), strings.Join(suiteNames(), ", "))
	}
	return chosen, nil
}
