package pack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// Checkout checks out a commit into a new directory with the git program of the user,
// which has the user's credentials. The caller removes the directory.
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

// checkout fetches only the commit if the server allows it, and otherwise all branches
// and tags. Some servers do not serve a commit by its hash, and no server serves a commit
// by a prefix of its hash.
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

// CommitTime returns the time of the commit that is checked out in a directory.
func CommitTime(ctx context.Context, dir string) (time.Time, error) {
	raw, err := gitAt{ctx: ctx, dir: dir}.run(nil, "log", "-1", "--format=%ct")
	seconds, wrong := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err = cmp.Or(err, wrong); err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	return time.Unix(seconds, 0), nil
}

// git runs a git command in dir. git may ask for credentials on the terminal.
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
