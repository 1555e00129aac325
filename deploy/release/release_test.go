package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// made builds a release of the CLI for one platform and returns its files by name.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	args := []string{"--out", out, "--platforms", "linux/amd64", "--programs", "k8s-cli", "--image", "registry.example.com/server", "--helm", os.Getenv("K8S_CLI_TEST_HELM")}
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	files, err := tree(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all[f.path] = f.content
	}
	return all
}

func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	first, again := made(t), made(t)
	if len(first) != len(again) || len(first) < 3 {
		t.Fatalf("%d files, then %d", len(first), len(again))
	}
	for name, content := range first {
		if !bytes.Equal(content, again[name]) {
			t.Errorf("%s differs", name)
		}
	}
	checkArchive(t, first)
	checkSums(t, first)
	checkWheels(t, first)
	if os.Getenv("K8S_CLI_TEST_HELM") != "" {
		checkChart(t, first)
	}
}

func version(t *testing.T) string {
	t.Helper()
	from, err := request{source: "../.."}.origin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return from.version
}

// named returns the file of a release with this suffix.
func named(t *testing.T, files map[string][]byte, suffix string) (name string, content []byte) {
	t.Helper()
	for name, content := range files {
		if strings.HasSuffix(name, suffix) {
			return name, content
		}
	}
	t.Fatalf("no %s among %d files", suffix, len(files))
	return "", nil
}

func checkArchive(t *testing.T, files map[string][]byte) {
	t.Helper()
	name, content := named(t, files, "_linux_amd64.tar.gz")
	title := "k8s-cli_" + version(t) + "_linux_amd64"
	if name != title+".tar.gz" {
		t.Errorf("the archive is called %s", name)
	}
	all, err := readTar(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range all {
		paths = append(paths, e.path)
	}
	for _, want := range []string{
		"k8s-cli", "LICENSE", "README.md", "CHANGELOG.md", "completions/k8s-cli.bash", "completions/_k8s-cli", "completions/k8s-cli.fish",
		"completions/k8s-cli.ps1", "man/man1/k8s-cli.1", "man/man1/k8s-cli-jobs-submit.1",
	} {
		if !slices.Contains(paths, title+"/"+want) {
			t.Errorf("the archive has no %s among %q", want, paths)
		}
	}
	if !slices.IsSorted(paths) {
		t.Errorf("the entries are not sorted: %q", paths)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	i := slices.Index(paths, title+"/k8s-cli")
	program := filepath.Join(t.TempDir(), "k8s-cli")
	if err := os.WriteFile(program, all[i].content, all[i].mode); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if want := "k8s-cli " + version(t) + " "; err != nil || !strings.HasPrefix(string(said), want) {
		t.Errorf("--version says %q (%v), want %q at the beginning", said, err, want)
	}
}

func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name, sums := named(t, files, "_checksums.txt")
	if lines := bytes.Count(sums, []byte("\n")); lines != len(files)-1 {
		t.Errorf("%d sums of %d files", lines, len(files)-1)
	}
	if _, list := named(t, files, ".spdx.json"); !bytes.Contains(list, []byte(`"SPDXRef-Program-k8s-cli-linux-amd64"`)) {
		t.Error("the list of contents does not name the program")
	}
	if said, err := output(t.Context(), dir, "sha256sum", "--check", name); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

func checkChart(t *testing.T, files map[string][]byte) {
	t.Helper()
	name, content := named(t, files, ".tgz")
	all, err := readTar(bytes.NewReader(content))
	if err != nil || name != "k8s-cli-"+version(t)+".tgz" {
		t.Fatalf("%s: %v", name, err)
	}
	text := map[string]string{}
	for _, e := range all {
		text[e.path] = string(e.content)
	}
	for path, want := range map[string]string{
		"k8s-cli/Chart.yaml":  "appVersion: " + version(t) + "\n",
		"k8s-cli/values.yaml": "  repository: registry.example.com/server\n  tag: v" + version(t) + "\n",
	} {
		if !strings.Contains(text[path], want) {
			t.Errorf("%s lacks %q:\n%.500s", path, want, text[path])
		}
	}
}

func TestArchiveForWindows(t *testing.T) {
	at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	name := filepath.Join(t.TempDir(), "k8s-cli_1.2.3_windows_amd64")
	files := under("k8s-cli_1.2.3_windows_amd64", []entry{{"k8s-cli.exe", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("license")}})
	if err := pack(name, true, files, at); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	var got []string
	for _, f := range z.File {
		got = append(got, f.Name)
		if !f.Modified.Equal(at) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if want := []string{files[0].path, files[1].path}; !slices.Equal(got, want) || !slices.IsSorted(got) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVersions checks the version of a git repository with one commit, which each case
// changes.
func TestVersions(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	for _, tt := range []struct {
		name string
		do   func(git func(...string), dir string)
		want string // "commit" is replaced by the hash of the commit
	}{
		{"no tag", func(func(...string), string) {}, "0.0.0-commit"},
		{"a tag", func(git func(...string), _ string) { git("tag", "v1.2.3") }, "1.2.3"},
		{"a tag with a message", func(git func(...string), _ string) { git("tag", "-a", "-m", "first", "v1.2.3-rc.1") }, "1.2.3-rc.1"},
		{"another tag", func(git func(...string), _ string) { git("tag", "latest") }, "0.0.0-commit"},
		{"changed files", func(_ func(...string), dir string) {
			_ = os.WriteFile(filepath.Join(dir, "file"), []byte("new"), 0o600)
		}, "0.0.0-commit-dirty"},
		{"a tag that is no version", func(git func(...string), _ string) { git("tag", "v1.2") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) {
				args = append([]string{"-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
				if _, err := output(t.Context(), dir, "git", args...); err != nil {
					t.Fatalf("%v: %v", args, err)
				}
			}
			git("init", "-q")
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			git("add", "file")
			git("commit", "-q", "-m", "first", "--date", "2026-06-01T12:00:00Z")
			tt.do(git, dir)
			commit, err := output(t.Context(), dir, "git", "rev-parse", "--short=12", "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			got, err := request{source: dir}.origin(t.Context())
			if tt.want == "" {
				if err == nil {
					t.Errorf("version %s, want an error", got.version)
				}
				return
			}
			if want := strings.Replace(tt.want, "commit", commit, 1); err != nil || got.version != want {
				t.Errorf("version %q (%v), want %q", got.version, err, want)
			}
		})
	}
}

func TestADirectoryWithFilesIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"--out", dir}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
}
