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
	"strings"

	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/lock"
)

// Ensure makes what a cluster needs and the cache lacks. The source of what is
// built is below source.
func Ensure(ctx context.Context, source string, l layout.Layout, t Teller) (Artifacts, error) {
	all, err := components(source)
	if err != nil {
		return Artifacts{}, err
	}
	kit := newArtifacts(l.Cache, all)
	if len(missing(l, all)) == 0 {
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
	todo := missing(l, all) // whoever held the lock may have made them
	for i, r := range todo {
		what := fmt.Sprintf("[%d/%d] building %s", i+1, len(todo), r.title)
		if r.takes != "" {
			what += " (" + r.takes + ", once per machine)"
		}
		if err := t.During(what, func() error { return r.cook(ctx, source, l.Cache) }); err != nil {
			return Artifacts{}, err
		}
	}
	return kit, nil
}

func missing(l layout.Layout, all []component) []component {
	var todo []component
	for _, r := range all {
		if r.only != "" && r.only != l.Nodes {
			continue
		}
		if _, err := os.Stat(filepath.Join(l.Cache, r.key)); errors.Is(err, fs.ErrNotExist) {
			todo = append(todo, r)
		}
	}
	return todo
}

// cook makes r aside and moves it into place in one step, so that an entry of
// the cache is always whole.
func (r component) cook(ctx context.Context, source, cache string) error {
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
	if err := r.make(ctx, builder{source: source, cache: cache, dir: dir, log: log}); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("build %s: %w%s (all of it: %s)", r.title, err, lastLines(log.Name()), log.Name())
	}
	return os.Rename(dir, filepath.Join(cache, r.key))
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
