package pack

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/test/testkit/must"
)

// runGit runs git in a directory, without the configuration of this machine, and returns its output.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// needGit skips the test if this machine has no git, and isolates git from the machine.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this machine has no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// files returns the files and links that a selector selects.
func files(t *testing.T, dir string, s selector) (names []string) {
	t.Helper()
	w := &walker{tree: &tree{sizes: map[string]int64{}}}
	must.Succeed(t, w.dir(dir, nil, s))
	for _, e := range w.tree.entries {
		if !e.mode.IsDir() {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names
}

// A forest draws directories with ignore files.
type forest struct{ *rand.Rand }

func (f forest) pick(all ...string) string { return all[f.IntN(len(all))] }

func (f forest) name() string {
	return f.pick("a", "b", "c", "ab", "a.py", "b.log", "build", ".env", "x y", "é", "[z]", "data", "#h", "!n", "d")
}

func (f forest) pattern() string {
	p := f.pick(f.name(), "*", "*.py", "*.log", "a*", "?", "[ab]", "[!a]*", "[a-c]", "[[:alpha:]]", `[\d]`, `[a\-c]`, "**", "**/a", "a/**", "a/**/b", "**/build/", "*/a", "a/*", "a?b", `\#h`, `\!n`, "b*[g]", "d/", "./a", "[", "x\\ y", "*.*")
	switch f.IntN(6) {
	case 0:
		p = "/" + p
	case 1:
		p += "/"
	case 2:
		p = f.name() + "/" + p
	}
	return f.pick("", "", "!") + p + f.pick("", "", "", " ")
}

// grow fills a directory.
func (f forest) grow(t *testing.T, dir string, depth int) {
	t.Helper()
	for range 2 + f.IntN(4) {
		path := filepath.Join(dir, f.name())
		if depth > 0 && f.IntN(2) == 0 {
			if err := os.Mkdir(path, 0o755); err == nil {
				f.grow(t, path, depth-1)
			}
			continue
		}
		_ = os.WriteFile(path, nil, 0o600) // unless a directory has the name
	}
	if f.IntN(2) == 0 {
		return
	}
	var lines []string
	for range 1 + f.IntN(4) {
		lines = append(lines, f.pattern())
	}
	must.Write(t, filepath.Join(dir, gitIgnore), strings.Join(lines, "\n"))
}

// What is uploaded is what git does not ignore: with git in and outside of a repository, and without git.
func TestPackSelectsTheFilesThatGitSelects(t *testing.T) {
	needGit(t)
	seeds := uint64(300)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		f := forest{rand.New(rand.NewPCG(seed, 1))}
		dir := t.TempDir()
		f.grow(t, dir, 3)
		outside := files(t, dir, gitSelector(t.Context(), dir))
		byHand := files(t, dir, byRules{nested: true})
		runGit(t, dir, "init", "--quiet")
		want := strings.Split(strings.TrimSuffix(runGit(t, dir, "ls-files", "-co", "--exclude-standard", "-z"), "\x00"), "\x00")
		slices.Sort(want)
		if want[0] == "" {
			want = nil
		}
		inside := files(t, dir, gitSelector(t.Context(), dir))
		for how, got := range map[string][]string{"in a repository": inside, "outside of a repository": outside, "without git": byHand} {
			if diff := cmp.Diff(want, got); diff != "" {
				ignored, _ := exec.CommandContext(t.Context(), "sh", "-c", "cd "+dir+"; grep -r . --include=.gitignore .").Output()
				t.Fatalf("seed %d, %s (-want +got):\n%s%s", seed, how, diff, ignored)
			}
		}
	}
}

// A repository also has patterns of the user, of its own, and of the directories above; tracked files
// are uploaded although a pattern matches; and empty directories are.
func TestPatternsBesidesTheFilesInTheDirectory(t *testing.T) {
	needGit(t)
	repo := lay(t, map[string]string{
		".gitignore": "*.csv\n/sub/top\nignored/\n", "sub/.gitignore": "logs/*\n", "sub/tracked.csv": "", "sub/other.csv": "", "sub/top": "",
		"sub/global": "", "sub/info": "", "sub/keep": "", "sub/logs/a": "", "sub/ignored/x": "", "ignored/y": "", "sub/nested/.gitignore": "n", "sub/nested/n": "", "sub/nested/m": "",
	})
	must.Succeed(t, os.MkdirAll(filepath.Join(repo, "sub", "empty", "deep"), 0o755))
	runGit(t, repo, "init", "--quiet")
	runGit(t, filepath.Join(repo, "sub", "nested"), "init", "--quiet")
	runGit(t, filepath.Join(repo, "sub", "nested"), "add", "m")
	runGit(t, filepath.Join(repo, "sub", "nested"), "commit", "--quiet", "-m", "m")
	runGit(t, repo, "add", "-f", "sub/tracked.csv")
	must.Write(t, filepath.Join(repo, ".git", "info", "exclude"), "info\n")
	must.Succeed(t, os.MkdirAll(filepath.Join(os.Getenv("HOME"), ".config", "git"), 0o755))
	must.Write(t, filepath.Join(os.Getenv("HOME"), ".config", "git", "ignore"), "global\n")
	names := func(dir string) (all []string) {
		tree, err := walk(t.Context(), filepath.Join(repo, dir), false)
		must.Succeed(t, err)
		for _, e := range tree.entries {
			all = append(all, e.header().Name)
		}
		return all
	}
	want := []string{"./", ".gitignore", "empty/", "empty/deep/", "keep", "logs/", "nested/", "nested/.gitignore", "nested/m", "tracked.csv"}
	if diff := cmp.Diff(want, names("sub")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(names("ignored")); got != "[./ y]" {
		t.Errorf("a directory that the repository ignores, but the user names: %s", got)
	}
}
