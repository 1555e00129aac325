package pack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s-cli/pkg/task"
)

// Checkout has the user's own git, which has the credentials, check out a commit
// into a directory of its own, which the caller removes.
func Checkout(ctx context.Context, g task.Git) (dir string, err error) {
	if strings.HasPrefix(g.URL, "-") || strings.HasPrefix(g.Ref, "-") {
		return "", fmt.Errorf("%s of %s is not a valid git reference", task.Quote(g.Ref), task.Quote(g.URL))
	}
	if dir, err = os.MkdirTemp("", "k8s-cli-git-*"); err != nil {
		return "", fmt.Errorf("create a directory for %s: %w", g.URL, err)
	}
	if err := checkout(ctx, dir, g); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// checkout fetches no more than the commit where that can be, and else all: not
// every server hands out a commit by its name, and none does by a part of it.
func checkout(ctx context.Context, dir string, g task.Git) error {
	if err := git(ctx, dir, "init", "--quiet"); err != nil {
		return err
	}
	from := g.URL
	if _, err := os.Stat(from); err == nil { // git runs in another directory
		if from, err = filepath.Abs(from); err != nil {
			return err
		}
	}
	err := git(ctx, dir, "fetch", "--quiet", "--depth", "1", "--", from, cmp.Or(g.Ref, "HEAD"))
	switch {
	case err == nil:
		return git(ctx, dir, "checkout", "--quiet", "FETCH_HEAD")
	case g.Ref == "":
		return err
	}
	if err := git(ctx, dir, "fetch", "--quiet", "--tags", "--", from, "+refs/heads/*:refs/remotes/origin/*"); err != nil {
		return err
	}
	for _, ref := range []string{g.Ref, "refs/remotes/origin/" + g.Ref} {
		if git(ctx, dir, "checkout", "--quiet", "--detach", ref, "--") == nil {
			return nil
		}
	}
	return fmt.Errorf("%s has no branch, tag or commit %s", g.URL, task.Quote(g.Ref))
}

// git runs in a directory. It may ask on the terminal for what it needs.
func git(ctx context.Context, dir string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, arguments...)...)
	cmd.Stdin = os.Stdin
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		why := strings.TrimSpace(said.String())
		if why == "" {
			why = err.Error()
		}
		return fmt.Errorf("git %s: %s", arguments[0], strings.ReplaceAll(why, "\n", "; "))
	}
	return nil
}
