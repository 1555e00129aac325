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
	"strings"
	"time"
)

// maxMemory is in KiB of address space: a mutant may allocate without end.
const maxMemory = 8 << 20

// A bench builds and runs the tests of one package.
type bench struct {
	pkg     string
	home    string   // directory of the package
	files   []string // its sources, without tests
	scratch string
	tests   []testRun
	took    time.Duration // of all tests, without a mutant
	slack   time.Duration // a mutant may take three times as long, and this
}

// A testRun is a test, how long it took without a mutant, and what it runs.
type testRun struct {
	name   string
	took   time.Duration
	blocks []block
}

// newBench runs each test of a package as it is, which must pass.
func newBench(ctx context.Context, c config, scratch string) (*bench, error) {
	b := &bench{pkg: c.pkg, slack: c.slack, scratch: scratch}
	if err := b.list(ctx); err != nil {
		return nil, err
	}
	if out, err := b.build(ctx, "-cover"); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", b.pkg, err, out)
	}
	names, err := b.test(ctx, time.Minute, "-test.list=^(Test|Example|Fuzz)")
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
	out, err := b.test(ctx, 10*time.Minute, "-test.run=^"+name+"$", "-test.coverprofile="+profile)
	if err != nil {
		return t, fmt.Errorf("%s of %s fails without any mutant: %w\n%s", name, b.pkg, err, out)
	}
	text, err := os.ReadFile(profile)
	return testRun{name: name, took: time.Since(began), blocks: parseCoverage(string(text))}, err
}

func (b *bench) list(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles", b.pkg).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("list %s: %s", b.pkg, bytes.TrimSpace(exit.Stderr))
		}
		return err
	}
	var found struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("list %s: %w", b.pkg, err)
	}
	b.home = found.Dir
	for _, f := range found.GoFiles {
		b.files = append(b.files, filepath.Join(found.Dir, f))
	}
	return nil
}

func (b *bench) binary() string { return filepath.Join(b.scratch, "mutant.test") }

func (b *bench) build(ctx context.Context, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", b.binary()}, flags...)
	return exec.CommandContext(ctx, "go", append(args, b.pkg)...).CombinedOutput()
}

// test runs the test binary in a directory for temporary files of its own, which
// it removes: tests that are killed leave theirs behind.
func (b *bench) test(ctx context.Context, limit time.Duration, flags ...string) ([]byte, error) {
	tmp := filepath.Join(b.scratch, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	ctx, cancel := context.WithTimeout(ctx, limit+b.slack) // test.timeout ends a mutant before, unless it hinders the runtime
	defer cancel()
	script := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, maxMemory)
	args := append([]string{"-c", script, b.binary(), "-test.failfast", "-test.count=1", "-test.timeout=" + limit.String()}, flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = b.home
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "GOMAXPROCS=2")
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// failure is how a test, or a runtime that gave up, begins to say so.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// judge returns the outcome of m and, if they killed it, which test did.
func (b *bench) judge(ctx context.Context, m mutant) (got outcome, why string, err error) {
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
	overlay, err := b.overlay(m)
	if err != nil {
		return "", "", err
	}
	if _, err := b.build(ctx, "-overlay="+overlay); err != nil {
		return uncompilable, "", ctx.Err()
	}
	out, err := b.test(ctx, limit, "-test.run=^("+strings.Join(names, "|")+")$")
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

// overlay writes m's source and the file that tells go to use it.
func (b *bench) overlay(m mutant) (string, error) {
	source, overlay := filepath.Join(b.scratch, "mutant.go"), filepath.Join(b.scratch, "overlay.json")
	if err := os.WriteFile(source, m.source(), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: source}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// A block is a line of a coverage profile.
type block struct {
	file          string // without its directory
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

// covers reports whether a test with these blocks ran the code of m. Code that is
// in no block, like the declaration of a variable, counts as run by all.
func covers(blocks []block, m mutant) bool {
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
