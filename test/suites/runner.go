package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// script contains the commands of the steps and the suites.
const script = "deploy/test.sh"

// passed is the directory of the records of suites that passed: one file for each suite, with the
// hash of the files that the suite read.
const passed = ".local/passed"

// gatePassed returns the directory of the records of the steps of the gate. It is in the cache of the
// user, as the test cache of Go is, so that the records serve every clone.
func gatePassed() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "k8s-cli", "passed"), err
}

// A runner runs steps, and collects their times and the results of their tests.
type runner struct {
	summary *summary
	only    string // regular expression of the names of tests; all tests if empty
	force   bool
	ran     bool // a suite ran
}

// gate runs the steps of the gate, and reports whether all of them passed. A step that prepares
// the tests and fails ends the gate. If t is nil, every step runs.
func (r *runner) gate(ctx context.Context, t *tree) (bool, error) {
	dir, err := gatePassed()
	if err != nil {
		return false, err
	}
	for _, s := range gate {
		if !r.suite(ctx, t, s, dir) && !strings.HasPrefix(s.name, "gate-") {
			break
		}
	}
	r.down(ctx)
	return r.summary.close(), nil
}

// suites runs suites, and reports whether all passed.
func (r *runner) suites(ctx context.Context, t *tree, chosen []suite) bool {
	for _, s := range chosen {
		r.suite(ctx, t, s, passed)
		if ctx.Err() != nil {
			break
		}
	}
	if r.ran && r.only == "" { // the cluster is kept for the next run of a few tests
		r.down(ctx)
	}
	return r.summary.close()
}

// suite runs a suite that did not pass on the same files before, and reports whether the suite
// passed. dir contains the records.
func (r *runner) suite(ctx context.Context, t *tree, s suite, dir string) bool {
	if t == nil || !s.reads() {
		return r.step(ctx, s.name)
	}
	record := filepath.Join(dir, s.name)
	hash, err := t.hash(s)
	if err != nil {
		r.summary.fails(s.name, err.Error())
		return false
	}
	if before, _ := os.ReadFile(record); string(before) == hash && !r.force && r.only == "" {
		r.summary.before(s.name)
		return true
	}
	_ = os.Remove(record)
	r.ran = true
	ok := r.step(ctx, s.name)
	if ok && r.only == "" {
		r.keep(record, hash)
	}
	return ok
}

func (r *runner) keep(record, hash string) {
	err := os.MkdirAll(filepath.Dir(record), 0o755)
	if err == nil {
		err = os.WriteFile(record, []byte(hash), 0o600)
	}
	if err != nil {
		r.summary.fails("record", err.Error())
	}
}

// step runs a step of the script and reports whether the step passed.
func (r *runner) step(ctx context.Context, name string) bool {
	r.summary.begin(name)
	began, failed := time.Now(), len(r.summary.failed)
	c := r.command(ctx, name)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		r.summary.readAll(out)
		err = c.Wait()
	}
	if err != nil && len(r.summary.failed) == failed {
		r.summary.fails(name, err.Error())
	}
	var processor time.Duration
	if s := c.ProcessState; s != nil {
		processor = s.UserTime() + s.SystemTime()
	}
	r.summary.end(time.Since(began), processor)
	return len(r.summary.failed) == failed
}

// down stops the clusters of the tests.
func (r *runner) down(ctx context.Context) {
	c := r.command(context.WithoutCancel(ctx), "down")
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "suites: stop the clusters: %v\n%s", err, out)
	}
}

// command returns the command of a step. If ctx ends, the command and its children get SIGTERM.
func (r *runner) command(ctx context.Context, step string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", script, step)
	c.Env = append(os.Environ(), "RUN="+r.only)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	if step != "down" {
		c.Stderr = os.Stderr
	}
	return c
}
