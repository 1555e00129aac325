package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxMemory limits the address space, in KiB: a mutant may allocate without end.
const maxMemory = 8 << 20

// A bench builds and runs the tests of one package.
type bench struct {
	pkg     string
	name    string   // of the package in its source files
	home    string   // its directory
	files   []string // its source files, without tests
	scratch string
	tests   []testRun
	took    time.Duration    // of all tests without a mutant
	broken  map[*mutant]bool // mutants that do not compile
	slack   time.Duration    // a mutant may take three times as long as no mutant, plus slack
}

// A testRun is one test, its duration without a mutant, and the code that it runs.
type testRun struct {
	name   string
	took   time.Duration
	blocks []block
}

// newBench runs each test of a package without mutants. Each test must pass.
func newBench(ctx context.Context, c config, scratch string) (*bench, error) {
	b := &bench{pkg: c.pkg, slack: c.slack, scratch: scratch}
	if err := b.list(ctx); err != nil {
		return nil, err
	}
	if out, err := b.build(ctx, "-cover"); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", b.pkg, err, out)
	}
	names, err := b.test(ctx, 0, time.Minute, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w\n%s", b.pkg, err, names)
	}
	for _, name := range strings.Fields(string(names)) {
		t, err := b.baseline(ctx, name)
		if err != nil {
			return nil, err
		}
		b.tests = append(b.tests, t)
		b.took += t.took
	}
	return b, nil
}

// baseline runs one test without a mutant.
func (b *bench) baseline(ctx context.Context, name string) (t testRun, err error) {
	profile := filepath.Join(b.scratch, "coverage")
	began := time.Now()
	out, err := b.test(ctx, 0, 10*time.Minute, "-test.run=^"+name+"$", "-test.coverprofile="+profile)
	if err != nil {
		return t, fmt.Errorf("%s of %s fails without any mutant: %w\n%s", name, b.pkg, err, out)
	}
	text, err := os.ReadFile(profile)
	return testRun{name: name, took: time.Since(began), blocks: parseCoverage(string(text))}, err
}

func (b *bench) list(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=Name,Dir,GoFiles", b.pkg).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("list %s: %s", b.pkg, bytes.TrimSpace(exit.Stderr))
		}
		return err
	}
	var found struct {
		Name    string
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("list %s: %w", b.pkg, err)
	}
	b.name, b.home = found.Name, found.Dir
	for _, f := range found.GoFiles {
		b.files = append(b.files, filepath.Join(found.Dir, f))
	}
	return nil
}

func (b *bench) binary() string { return filepath.Join(b.scratch, "mutants.test") }

func (b *bench) build(ctx context.Context, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", b.binary()}, flags...)
	return exec.CommandContext(ctx, "go", append(args, b.pkg)...).CombinedOutput()
}

// test runs the test program with one of its mutants, or without a mutant if mutant is 0.
// The test program gets its own directory for temporary files. test removes this directory,
// because a killed test program leaves its files behind.
func (b *bench) test(ctx context.Context, mutant int, limit time.Duration, flags ...string) ([]byte, error) {
	tmp := filepath.Join(b.scratch, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	ctx, cancel := context.WithTimeout(ctx, limit+b.slack) // -test.timeout ends a mutant earlier, unless the mutant blocks the runtime
	defer cancel()
	script := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, maxMemory)
	args := append([]string{"-c", script, b.binary(), "-test.failfast", "-test.count=1", "-test.timeout=" + limit.String()}, flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.home
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "GOMAXPROCS=2", "MUTANT="+strconv.Itoa(mutant))
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// compile builds one test program with all mutants, and marks the mutants that do not
// compile.
func (b *bench) compile(ctx context.Context, mutants []*mutant) error {
	b.broken = map[*mutant]bool{}
	for {
		spans, err := b.overlay(mutants)
		if err != nil {
			return err
		}
		out, err := b.build(ctx, "-gcflags=-e", "-overlay="+filepath.Join(b.scratch, "overlay.json"))
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		before := len(b.broken)
		b.blame(string(out), spans)
		if len(b.broken) == before {
			return fmt.Errorf("build the mutants of %s: %w\n%s", b.pkg, err, out)
		}
		mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return b.broken[m] })
	}
}

var position = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// blame marks the mutants in which the compiler reported errors.
func (b *bench) blame(errors string, spans []span) {
	for _, at := range position.FindAllStringSubmatch(errors, -1) {
		line, _ := strconv.Atoi(at[2])
		for _, s := range spans {
			if filepath.Base(s.mutant.file) == filepath.Base(at[1]) && s.first <= line && line <= s.last {
				b.broken[s.mutant] = true
			}
		}
	}
}

// overlay writes the sources with all mutants, and the overlay file that makes go use them.
func (b *bench) overlay(mutants []*mutant) (all []span, err error) {
	files := map[string][]*mutant{}
	for _, m := range mutants {
		files[m.file] = append(files[m.file], m)
	}
	sources := map[string][]byte{filepath.Join(b.home, "mutant__.go"): []byte("package " + b.name + "\n\n" + chooser)}
	for file, of := range files {
		text, spans := combine(of)
		sources[file] = text
		all = append(all, spans...)
	}
	replace := map[string]string{}
	for file, text := range sources {
		replace[file] = filepath.Join(b.scratch, filepath.Base(file))
		if err := os.WriteFile(replace[file], text, 0o600); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(filepath.Join(b.scratch, "overlay.json"), text, 0o600)
}

// failure matches the first line of a report of a failed test or of a failed runtime.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// judge returns the outcome of m, after compile has built m. why names the test that killed
// m.
func (b *bench) judge(ctx context.Context, m *mutant) (got outcome, why string, err error) {
	if b.broken[m] {
		return uncompilable, "", nil
	}
	var names []string
	limit := b.slack
	for _, t := range b.tests {
		if covers(t.blocks, m) {
			names = append(names, t.name)
			limit += 3 * t.took
		}
	}
	if len(names) == 0 {
		return notCovered, "", nil
	}
	out, err := b.test(ctx, m.id, limit, "-test.run=^("+strings.Join(names, "|")+")$")
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil:
		return survived, "", nil
	case bytes.Contains(out, []byte("panic: test timed out")), errors.Is(err, exec.ErrWaitDelay):
		return timedOut, "", nil
	case !failed:
		return "", "", err
	}
	if at := failure.FindSubmatch(out); at != nil {
		why = fmt.Sprintf(" (%s)", cmp.Or(string(at[1]), string(at[2])))
	}
	return killed, why, nil
}

// A block is a line of a coverage profile.
type block struct {
	file          string // base name
	line, column  int
	endLine, endC int
	count         int
}

func parseCoverage(profile string) (blocks []block) {
	for line := range strings.Lines(profile) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || name == "mode" {
			continue
		}
		b := block{file: filepath.Base(name)}
		var statements int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.endLine, &b.endC, &statements, &b.count); err == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// covers reports whether a test with these blocks ran the code of m. Code outside all
// blocks, such as the declaration of a variable, counts as run by every test.
func covers(blocks []block, m *mutant) bool {
	before := m.src[:m.from]
	column := m.from - bytes.LastIndexByte(before, '\n')
	var inner block
	for _, b := range blocks {
		begins := b.line < m.line || b.line == m.line && b.column <= column
		ends := b.endLine > m.line || b.endLine == m.line && b.endC > column
		if b.file == filepath.Base(m.file) && begins && ends && (b.line > inner.line || b.line == inner.line && b.column > inner.column) {
			inner = b
		}
	}
	return inner.line == 0 || inner.count > 0
}
