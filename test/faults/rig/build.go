package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Root returns the root directory of the checkout in which the harness runs.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s-cli").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// BuildServer builds k8s-cli-server into dir and returns its path. overlay maps paths below
// the root of the checkout to a text that replaces the file.
func BuildServer(ctx context.Context, dir string, overlay map[string]string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range overlay {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("build: %w", err)
		}
		replace[filepath.Join(root, name)] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return goBuild(ctx, root, dir, "k8s-cli-server", "k8s-cli/cmd/k8s-cli-server", "-overlay", list)
}

// ErrNoCommit means that the checkout does not contain a commit, for example because it is
// shallow.
var ErrNoCommit = errors.New("the checkout does not have the commit")

// BuildCommit builds k8s-cli-server of a commit with the race detector and returns its path.
// The binary stays in the user's cache directory. The error is ErrNoCommit if git does not
// know the commit.
func BuildCommit(ctx context.Context, commit string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	kept := filepath.Join(cache, "k8s-cli", "release-"+commit+"-"+runtime.Version(), "k8s-cli-server")
	run := func(name string, args ...string) error {
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, args[2], err, out)
		}
		return nil
	}
	if err := run("git", "-C", root, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("%w %s: %w", ErrNoCommit, commit, err)
	}
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	aside, err := os.MkdirTemp(filepath.Dir(kept), "source-")
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	defer func() { _ = os.RemoveAll(aside) }()
	archive := filepath.Join(aside, "source.tar")
	if err := errors.Join(run("git", "-C", root, "archive", "--output", archive, commit), run("tar", "-C", aside, "-xf", archive)); err != nil {
		return "", err
	}
	built, err := goBuild(ctx, aside, aside, "server", "./cmd/k8s-cli-server", "-race")
	if err == nil {
		err = os.Rename(built, kept)
	}
	return kept, err
}

func goBuild(ctx context.Context, root, dir, name, pkg string, flags ...string) (string, error) {
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", path}, flags...), pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}
