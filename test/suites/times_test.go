package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

// settledClone returns the times of a clone after settleTimes.
func settledClone(t *testing.T, from string, change func()) (at map[string]time.Time) {
	t.Helper()
	dir := t.TempDir()
	git(t, "clone", "-q", "--no-local", from, dir)
	t.Chdir(dir)
	change()
	must.Succeed(t, settleTimes())
	at = map[string]time.Time{}
	for _, file := range []string{"a", "sub", "sub/b"} {
		info, err := os.Stat(file)
		must.Succeed(t, err)
		at[file] = info.ModTime()
	}
	return at
}

func git(t *testing.T, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=ann", "-c", "user.email=ann@example.com"}, arguments...)...)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", arguments, err, said)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Write(t, file, content)
}

func TestClonesHaveTheSameTimes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this machine has no git")
	}
	from := t.TempDir()
	t.Chdir(from)
	git(t, "init", "-q")
	write(t, "a", "1")
	write(t, "sub/b", "1")
	git(t, "add", ".")
	git(t, "commit", "-q", "-m", "first")
	first := settledClone(t, from, func() {})
	same := settledClone(t, from, func() {})
	began := time.Now().Add(-time.Minute)
	edited := settledClone(t, from, func() { write(t, "sub/b", "2") })
	t.Chdir(from)
	write(t, "sub/b", "2")
	git(t, "commit", "-q", "-a", "-m", "second")
	later := settledClone(t, from, func() {})
	for file, at := range first {
		if !same[file].Equal(at) {
			t.Errorf("%s: %s in one clone, %s in another", file, at, same[file])
		}
	}
	if edited["sub/b"].Before(began) || edited["sub/b"].Equal(first["sub/b"]) {
		t.Errorf("a file that was edited has the time %s", edited["sub/b"])
	}
	if !later["a"].Equal(first["a"]) || later["sub/b"].Equal(first["sub/b"]) || later["sub"].Equal(first["sub"]) {
		t.Errorf("after a commit that changed sub/b: %v, before %v", later, first)
	}
}
