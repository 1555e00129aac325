package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/lock"
)

// A Choice selects components.
type Choice int

// The choices.
const (
	Everything Choice = iota // what a cluster needs
	FirstTask                // the same without the add-ons, which its first task can do without
	AddOns                   // only the add-ons
	Kubectl                  // only kubectl
)

// Ensure makes the components of choice that the cache lacks. Their sources are in
// directories below source.
func Ensure(ctx context.Context, source string, l layout.Layout, choice Choice, t Teller) (Artifacts, error) {
	all, err := components(source)
	if err != nil {
		return Artifacts{}, err
	}
	kit := newArtifacts(l.Cache, all)
	if len(missing(l, choice, all)) == 0 {
		return kit, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return Artifacts{}, errors.New("the cluster's programs are built from source, but there is no go command")
	}
	leave, err := enter(ctx, l.Cache, t)
	if err != nil {
		return Artifacts{}, err
	}
	defer leave()
	// The previous holder of the lock may have made some components.
	w := work{source: source, cache: l.Cache, tell: t, progress: newProgress(runtime.NumCPU())}
	err = w.all(ctx, missing(l, choice, all))
	if ctx.Err() != nil {
		t.Say("interrupted: Go keeps what is compiled, and the next run continues there")
	}
	return kit, err
}

// missing returns the components of choice that the cache lacks.
func missing(l layout.Layout, choice Choice, all []component) []component {
	var todo []component
	for _, r := range all {
		if !choice.has(r.need, l) {
			continue
		}
		if _, err := os.Stat(filepath.Join(l.Cache, r.key)); errors.Is(err, fs.ErrNotExist) {
			todo = append(todo, r)
		}
	}
	return todo
}

// has reports whether c contains the components that are needed as n says.
func (c Choice) has(n need, l layout.Layout) bool {
	switch c {
	case Kubectl:
		return n == onDemand
	case FirstTask:
		return n.neededBy(l) && !n.addOn()
	case AddOns:
		return n.neededBy(l) && n.addOn()
	default:
		return n.neededBy(l)
	}
}

// A work is one call of Ensure.
type work struct {
	source, cache string
	tell          Teller
	progress      *progress
}

// all makes the components. It compiles one program after the other, because one program
// keeps all processors busy, and at the same time fetches and unpacks Debian packages.
func (w work) all(ctx context.Context, todo []component) error {
	if len(todo) == 0 {
		return nil
	}
	var compiled, others []component
	for _, r := range todo {
		if r.compiled() {
			compiled = append(compiled, r)
		} else {
			others = append(others, r)
		}
	}
	w.tell.Say("building %s, once per machine", titles(todo))
	return w.tell.During(w.progress.status, func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error {
			w.count(ctx, compiled)
			return w.each(ctx, compiled)
		})
		g.Go(func() error { return w.each(ctx, others) })
		return g.Wait()
	})
}

// count counts the packages that have to be compiled. An error only makes the progress
// wrong: the build meets the same error and reports it.
func (w work) count(ctx context.Context, todo []component) {
	for _, r := range todo {
		for _, t := range r.targets {
			if sizes, err := (builder{source: w.source}).uncompiled(ctx, t); err == nil {
				w.progress.expect(sizes)
			}
		}
	}
}

// each makes the components one after the other.
func (w work) each(ctx context.Context, todo []component) error {
	for _, r := range todo {
		start := time.Now()
		if r.compiled() {
			w.progress.begin(r.title)
		}
		if err := r.cook(ctx, w.source, w.cache, w.progress); err != nil {
			return err
		}
		w.tell.Say("  %s: done in %s", r.title, since(start))
	}
	return nil
}

func titles(todo []component) string {
	var all []string
	for _, r := range todo {
		all = append(all, r.title)
	}
	return strings.Join(all, ", ")
}

// cook makes r aside and moves it into place in one step, so that an entry of
// the cache is always whole.
func (r component) cook(ctx context.Context, source, cache string, p *progress) error {
	dir, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next command sweeps
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(cache, r.key+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	k := builder{source: source, cache: cache, dir: dir, log: log, progress: p}
	if err := r.produce(ctx, k); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("build %s: %w%s (all of it: %s)", r.title, err, lastLines(log.Name()), log.Name())
	}
	return os.Rename(dir, filepath.Join(cache, r.key))
}

func (r component) produce(ctx context.Context, k builder) error {
	for _, t := range r.targets {
		if err := k.build(ctx, t); err != nil {
			return err
		}
	}
	if r.make == nil {
		return nil
	}
	return r.make(ctx, k)
}

// enter keeps two commands from building at once. It also sweeps away what an
// interrupted one left, which only the holder of the lock can know to be garbage.
func enter(ctx context.Context, cache string, t Teller) (leave func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	leave, err = lock.Take(ctx, cache, func() { t.Say("waiting for another command that is building the same") })
	if err != nil {
		return nil, err
	}
	garbage, _ := filepath.Glob(filepath.Join(cache, "making-*"))
	for _, dir := range garbage {
		_ = os.RemoveAll(dir)
	}
	return leave, nil
}

// lastLines returns the end of a log, to be read after an error.
func lastLines(path string) string {
	b, err := os.ReadFile(path)
	b = bytes.TrimSpace(b)
	if err != nil || len(b) == 0 {
		return ""
	}
	lines := strings.Split(string(b), "\n")
	return "\n  " + strings.Join(lines[max(0, len(lines)-5):], "\n  ") + "\n "
}
