package pack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// lay creates a directory with files. A content that begins with -> is the target of a
// symbolic link.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		var err error
		if to, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		must.Succeed(t, err)
	}
	return dir
}

func pack(t *testing.T, path string, o Options) *Archive {
	t.Helper()
	a, err := Pack(t.Context(), path, o)
	must.Succeed(t, err)
	t.Cleanup(a.Remove)
	return a
}

// list returns the entries of an archive: mode, name, and content or target.
func list(t *testing.T, a *Archive) (all []string) {
	t.Helper()
	file, err := a.Open()
	must.Succeed(t, err)
	defer file.Close()
	zip, err := gzip.NewReader(file)
	must.Succeed(t, err)
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, wrong := io.ReadAll(files)
		if err != nil || wrong != nil || h.Uid+h.Gid > 0 || h.Uname+h.Gname != "" || h.ModTime.Nanosecond() != 0 || h.ModTime.Unix() == 0 {
			t.Fatalf("%+v, %v, %v", h, err, wrong)
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%o %s %s%s", h.Mode, h.Name, content, h.Linkname)))
	}
}

func TestAnArchiveHoldsWhatTheDirectoryDoes(t *testing.T) {
	dir := lay(t, map[string]string{"b": "two", "a/c": "three", "a b": "blank", "link": "->a/c", "out": "->/etc/passwd", "é": "", ".git/config": "x", "a/.git/x": "y"})
	must.Succeed(t, os.Chmod(filepath.Join(dir, "b"), 0o755))
	must.Succeed(t, os.Chmod(filepath.Join(dir, "a b"), 0o400))
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	want := []string{"755 ./", "755 a/", "644 a/c three", "400 a b blank", "755 b two", "755 empty/", "777 link a/c", "777 out /etc/passwd", "644 é"}
	if diff := cmp.Diff(want, list(t, pack(t, dir, Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"755 " + task.SingleFile + " two"}, list(t, pack(t, filepath.Join(dir, "b"), Options{}))); diff != "" {
		t.Errorf("a file (-want +got):\n%s", diff)
	}
}

func TestTheSameContentIsTheSameArchive(t *testing.T) {
	files := map[string]string{"a": "one", "b/c": "two", "b/d": "->c"}
	one, other := lay(t, files), lay(t, files)
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i, dir := range []string{one, other} {
		for _, name := range []string{"a", "b/c", "b", "."} {
			at := past.Add(time.Duration(i) * time.Millisecond)
			must.Succeed(t, os.Chtimes(filepath.Join(dir, name), at, at))
		}
	}
	sum := pack(t, one, Options{}).Sum
	if again := pack(t, other, Options{}).Sum; again != sum || len(sum) != 64 {
		t.Errorf("%s and %s", sum, again)
	}
	for what, change := range map[string]func() error{
		"time":    func() error { return os.Chtimes(filepath.Join(other, "b/c"), past, past.Add(time.Minute)) },
		"content": func() error { return os.WriteFile(filepath.Join(other, "a"), []byte("One"), 0o600) },
		"mode":    func() error { return os.Chmod(filepath.Join(other, "b/c"), 0o755) },
		"name":    func() error { return os.Rename(filepath.Join(other, "a"), filepath.Join(other, "A")) },
	} {
		must.Succeed(t, change())
		if again := pack(t, other, Options{}).Sum; again == sum {
			t.Errorf("another %s is the same archive", what)
		}
	}
}

func TestIgnoreRulesSelectFiles(t *testing.T) {
	files := map[string]string{"a.log": "", "b.txt": "", "keep.log": "", "build/x": "", "sub/build/y": "", "sub/a.log": "", "sub/c": "", "sub/deep/c": ""}
	for _, tt := range []struct {
		name    string
		ignore  map[string]string
		tracked bool
		want    string // names of the entries
	}{
		{"nothing", nil, false, "a.log b.txt build/x keep.log sub/a.log sub/build/y sub/c sub/deep/c"},
		{".gitignore", map[string]string{".gitignore": "# logs\n*.log\n!keep.log\n/build/\n"}, false, ".gitignore b.txt keep.log sub/build/y sub/c sub/deep/c"},
		{"a .gitignore below counts there", map[string]string{"sub/.gitignore": "/c\nbuild\n", ".gitignore": "\r\n*.txt\r\n"}, false, ".gitignore a.log build/x keep.log sub/.gitignore sub/a.log sub/deep/c"},
		{".skyignore alone, if there is one", map[string]string{".skyignore": "./a.log\nsub/deep\n", ".gitignore": "b.txt", "sub/.gitignore": "c"}, false, ".gitignore .skyignore b.txt build/x keep.log sub/.gitignore sub/a.log sub/build/y sub/c"},
		{"an empty .skyignore", map[string]string{".skyignore": "", ".gitignore": "*"}, false, ".gitignore .skyignore a.log b.txt build/x keep.log sub/a.log sub/build/y sub/c sub/deep/c"},
		{"what git has is there though it is ignored", map[string]string{".gitignore": "*.log\n"}, true, ".gitignore a.log b.txt build/x keep.log sub/a.log sub/build/y sub/c sub/deep/c"},
		{"a .skyignore counts there too", map[string]string{".skyignore": "*\n!b.txt\n"}, true, "b.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := map[string]string{}
			for _, some := range []map[string]string{files, tt.ignore} {
				for name, content := range some {
					all[name] = content
				}
			}
			dir := lay(t, all)
			tree, err := walk(t.Context(), dir, tt.tracked)
			must.Succeed(t, err)
			var names []string
			for _, e := range tree.entries {
				if e.mode.IsRegular() {
					names = append(names, e.name)
				}
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAnArchiveThatWouldBeTooLarge(t *testing.T) {
	random, err := os.Open("/dev/urandom")
	must.Succeed(t, err)
	defer random.Close()
	noise := make([]byte, 3<<20)
	if _, err := io.ReadFull(random, noise); err != nil {
		t.Fatal(err)
	}
	dir := lay(t, map[string]string{"model/a": string(noise[:2<<20]), "model/b": string(noise[:500_000]), "data": string(noise), "x": "1", "y": ""})
	before, err := filepath.Glob(filepath.Join(os.TempDir(), "k8s-cli-*.tar.gz"))
	must.Succeed(t, err)
	_, err = Pack(t.Context(), dir, Options{Limit: 4 << 20})
	if !errors.Is(err, problem.TooLarge) || !strings.Contains(err.Error(), "size limit of the server, 4.0 MiB") || !strings.Contains(err.Error(), "data (3.0 MiB), model (2.5 MiB), x (1 B)") {
		t.Errorf("%v", err)
	}
	if after, err := filepath.Glob(filepath.Join(os.TempDir(), "k8s-cli-*.tar.gz")); err != nil || len(after) > len(before) {
		t.Errorf("it leaves %q, %v", after, err)
	}
	var done int64
	a := pack(t, dir, Options{Limit: 8 << 20, Progress: func(n, total int64) {
		if n <= done || n > total || total != 3<<20+2<<20+500_001 {
			t.Errorf("%d of %d after %d", n, total, done)
		}
		done = n
	}})
	if info, err := os.Stat(a.Path); err != nil || info.Size() != a.Size || done != 3<<20+2<<20+500_001 {
		t.Errorf("%d bytes done, archive of %d bytes: %v, %v", done, a.Size, info, err)
	}
}

func TestPackOfAMissingDirectory(t *testing.T) {
	if _, err := Pack(t.Context(), filepath.Join(t.TempDir(), "nowhere"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// repository creates a git repository with two commits, a branch and a tag.
func repository(t *testing.T) (dir, first string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this machine has no git")
	}
	dir = t.TempDir()
	run := func(arguments ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, arguments...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", arguments, err)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(content string) {
		must.Write(t, filepath.Join(dir, "file"), content)
		run("add", "-A")
		run("commit", "--quiet", "-m", content)
	}
	run("init", "--quiet", "--initial-branch", "main")
	commit("first")
	first = run("rev-parse", "HEAD")
	run("tag", "v1")
	run("checkout", "--quiet", "-b", "side")
	commit("side")
	run("checkout", "--quiet", "main")
	commit("last")
	return dir, first
}

func TestCheckouts(t *testing.T) {
	repo, first := repository(t)
	for ref, want := range map[string]string{"": "last", "main": "last", "side": "side", "v1": "first", first: "first", first[:10]: "first"} {
		for _, url := range []string{repo, "file://" + repo} {
			dir, err := Checkout(t.Context(), task.Git{URL: url, Ref: ref})
			if err != nil {
				t.Errorf("%s %q: %v", url, ref, err)
				continue
			}
			got, err := os.ReadFile(filepath.Join(dir, "file"))
			if err != nil || string(got) != want {
				t.Errorf("%s %q: %q, %v, want %q", url, ref, got, err, want)
			}
			_ = os.RemoveAll(dir)
		}
	}
	for says, g := range map[string]task.Git{
		`has no branch, tag or commit "nowhere"`: {URL: repo, Ref: "nowhere"},
		"git fetch: ":                            {URL: repo + "/nowhere"},
		"is not a valid git reference":           {URL: "--upload-pack=false"},
	} {
		if _, err := Checkout(t.Context(), g); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", g, err)
		}
	}
}
