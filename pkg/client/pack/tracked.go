package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// byGit selects what git does not ignore: files that git tracks, and other files that no pattern of
// the user, the repository or a directory excludes. Directories are selected that have such files, or
// that no pattern excludes.
type byGit struct {
	ctx         context.Context
	files, dirs map[string]bool // by their path below the top
	top         []string        // path of the repository below the top of the archive
}

// gitSelector returns the selector of a directory: what git says, or, without git, what the .gitignore
// files say.
func gitSelector(ctx context.Context, dir string) selector {
	s, err := newGitSelector(ctx, dir, nil)
	if err != nil { // git is missing, or refuses the repository of another user
		return byRules{nested: true}
	}
	return s
}

func newGitSelector(ctx context.Context, dir string, top []string) (*byGit, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	g := gitAt{ctx: ctx, dir: dir}
	inside, err := g.run(nil, "rev-parse", "--is-inside-work-tree")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, err
	}
	if err != nil || strings.TrimSpace(string(inside)) != "true" || g.ignores() {
		alone, err := os.MkdirTemp("", "k8s-cli-git-")
		if err != nil {
			return nil, fmt.Errorf("create a repository: %w", err)
		}
		defer func() { _ = os.RemoveAll(alone) }()
		g.env = []string{"GIT_DIR=" + alone, "GIT_WORK_TREE=" + dir}
		if _, err := g.run(nil, "init", "--quiet"); err != nil {
			return nil, err
		}
	}
	raw, err := g.run(nil, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	s := &byGit{ctx: ctx, files: map[string]bool{}, dirs: map[string]bool{"": true}, top: top}
	for name := range strings.SplitSeq(string(raw), "\x00") {
		s.files[strings.TrimSuffix(name, "/")] = true // a repository in this one ends with /
		for parent := path.Dir(name); !s.dirs[parent] && parent != "."; parent = path.Dir(parent) {
			s.dirs[parent] = true
		}
	}
	return s, s.addDirs(g)
}

// addDirs adds the directories that no pattern excludes, although git has no file of them.
func (b *byGit) addDirs(g gitAt) error {
	for level := []string{""}; len(level) > 0; {
		var doubtful, next []string
		for _, at := range level {
			items, err := os.ReadDir(filepath.Join(g.dir, at))
			if err != nil {
				return err
			}
			for _, item := range items {
				name := path.Join(at, item.Name())
				switch {
				case !item.IsDir() || item.Name() == gitDir || b.files[name]:
				case b.dirs[name]:
					next = append(next, name)
				default:
					doubtful = append(doubtful, name)
				}
			}
		}
		ignored, err := g.ignored(doubtful)
		if err != nil {
			return err
		}
		for _, name := range doubtful {
			if !ignored[name] {
				b.dirs[name] = true
				next = append(next, name)
			}
		}
		level = next
	}
	return nil
}

// enter returns a selector of its own for a repository in this one.
func (b *byGit) enter(dir string, at []string) (selector, error) {
	if len(at) > len(b.top) && b.files[strings.Join(at[len(b.top):], "/")] {
		return newGitSelector(b.ctx, dir, at)
	}
	return b, nil
}

func (b *byGit) has(at []string, isDir bool) bool {
	name := strings.Join(at[len(b.top):], "/")
	return b.files[name] || isDir && b.dirs[name]
}

// A gitAt runs git in a directory.
type gitAt struct {
	ctx context.Context
	dir string
	env []string
}

func (g gitAt) run(input []byte, args ...string) ([]byte, error) {
	c := exec.CommandContext(g.ctx, "git", append([]string{"-C", g.dir}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_DIR=") && !strings.HasPrefix(v, "GIT_WORK_TREE=") && !strings.HasPrefix(v, "GIT_INDEX_FILE=") { // set in a hook of git
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, g.env...)
	c.Stdin = bytes.NewReader(input)
	return c.Output()
}

// ignores reports whether the repository ignores the directory itself: its content is not for git then.
func (g gitAt) ignores() bool {
	_, err := g.run(nil, "check-ignore", "--quiet", ".")
	return err == nil
}

// ignored returns which of these paths are ignored.
func (g gitAt) ignored(names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	raw, err := g.run([]byte(strings.Join(names, "\x00")), "check-ignore", "-z", "--stdin")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // none
		err = nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for name := range strings.SplitSeq(string(raw), "\x00") {
		all[name] = true
	}
	return all, nil
}
