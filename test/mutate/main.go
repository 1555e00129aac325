// Command mutate measures how well the unit tests of a package detect wrong code. The
// command changes one token or statement of the package at a time and runs the tests that
// cover the changed code. The command lists the changes (mutants) that no test detected.
// Only functions are changed, neither constants nor variables of a package. The command
// never writes to the working tree: the flag -overlay of go replaces the sources.
//
//	go run ./test/mutate -n 50 -seed 1 ./pkg/queue
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"time"
)

type config struct {
	pkg     string
	n       int
	seed    uint64
	files   []string // patterns of file names; empty means all files
	min     float64
	verbose bool
	slack   time.Duration // see bench.slack
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, parse(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func parse() config {
	c := config{slack: 10 * time.Second}
	var files string
	flag.IntVar(&c.n, "n", 50, "mutants to try, or 0 for all")
	flag.Uint64Var(&c.seed, "seed", 1, "choose other mutants with another seed")
	flag.StringVar(&files, "files", "", "mutate only these `files`, patterns separated by spaces")
	flag.Float64Var(&c.min, "min", 0, "fail if fewer percent of the mutants are killed")
	flag.BoolVar(&c.verbose, "v", false, "print killed mutants too, each with the test that killed it")
	flag.Parse()
	c.files = strings.Fields(files)
	c.pkg = flag.Arg(0)
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "mutate: name one package, for example ./pkg/queue")
		os.Exit(2)
	}
	return c
}

// run judges c.n mutants of the package and prints the result. run returns an error if the
// tests cannot run or the score is below c.min.
func run(ctx context.Context, c config, out io.Writer) error {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bench, err := newBench(ctx, c, dir)
	if err != nil {
		return err
	}
	mutants, err := candidates(bench, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d tests take %v; %d possible mutants, seed %d\n",
		c.pkg, len(bench.tests), bench.took.Round(100*time.Millisecond), len(mutants), c.seed)
	if c.n > 0 {
		mutants = mutants[:min(c.n, len(mutants))]
	}
	if err := bench.compile(ctx, mutants); err != nil {
		return err
	}
	sum, began := tally{}, time.Now()
	for _, m := range mutants {
		got, why, err := bench.judge(ctx, m)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", m.file, m.line, err)
		}
		sum[got]++
		if got == survived || got == notCovered || c.verbose {
			fmt.Fprintf(out, "%-12s %s:%d: %s%s\n", got, path.Join(c.pkg, filepath.Base(m.file)), m.line, m, why)
		}
	}
	fmt.Fprintf(out, "%s in %v\n", sum, time.Since(began).Round(time.Second))
	if score := sum.score(); score < c.min {
		return fmt.Errorf("the score %.1f%% is below the minimum %.1f%%: test or delete the code of the mutants above", score, c.min)
	}
	return nil
}

// candidates returns all mutants of the chosen files. The order of the mutants depends only
// on the seed and the sources.
func candidates(b *bench, c config) (all []*mutant, err error) {
	for _, file := range b.files {
		if !matches(filepath.Base(file), c.files) {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := mutate(file, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, errors.New("no mutants: check the package and the names of the files")
	}
	random := rand.New(rand.NewPCG(c.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, m := range all {
		m.id = i + 1
	}
	return all, nil
}

func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return len(patterns) == 0
}

// An outcome is the result of the tests with a mutant.
type outcome string

const (
	killed       outcome = "killed"       // a test failed
	timedOut     outcome = "timed out"    // the tests took far longer than without the mutant; counts as killed
	survived     outcome = "survived"     // all tests passed
	notCovered   outcome = "not covered"  // no test runs the line; counts as survived
	uncompilable outcome = "uncompilable" // does not count
)

// A tally counts mutants by outcome.
type tally map[outcome]int

func (t tally) killed() int { return t[killed] + t[timedOut] }
func (t tally) judged() int { return t.killed() + t[survived] + t[notCovered] }

// score returns the percentage of the judged mutants that were killed.
func (t tally) score() float64 {
	return 100 * float64(t.killed()) / float64(max(t.judged(), 1))
}

func (t tally) String() string {
	return fmt.Sprintf("score %.1f%%: %d killed (%d of them timed out), %d survived, %d not covered; %d uncompilable",
		t.score(), t.killed(), t[timedOut], t[survived], t[notCovered], t[uncompilable])
}
