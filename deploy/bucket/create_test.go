package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBucketsAreCreated uploads local files to a bucket that does not exist at first. Then the local
// files and the bucket change, and another task uploads again.
func TestBucketsAreCreated(t *testing.T) {
	s := newStore(t)
	files, dir := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kept", "changed"} {
		write(filepath.Join(files, name), "1")
	}
	fetchTo := func(name string) map[string]string {
		t.Helper()
		b := bucketAt("new-bucket", filepath.Join(dir, name))
		b.Create, b.Files = true, map[string]string{"": files}
		if err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{b}}, s.variables()); err != nil {
			t.Fatal(err)
		}
		if got, want := sumsOf(t, b.Dir), sumsOf(t, filepath.Join(s.dir, "new-bucket")); !equal(got, want) {
			t.Errorf("%s has %v, the bucket has %v", name, got, want)
		}
		return sumsOf(t, b.Dir)
	}
	if got, want := fetchTo("first"), sumsOf(t, files); !equal(got, want) {
		t.Errorf("the bucket has %v, want %v", got, want)
	}
	before, err := os.Stat(filepath.Join(s.dir, "new-bucket", "kept"))
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(s.dir, "new-bucket", "of-another-task"), "x")
	s.stop()
	s.start(t)                                  // a running server lists what its cache of directories has
	write(filepath.Join(files, "changed"), "2") // of the same size
	if got := fetchTo("second"); len(got) != 3 || got["changed"] != sumsOf(t, files)["changed"] {
		t.Errorf("the second task has %v", got)
	}
	if after, err := os.Stat(filepath.Join(s.dir, "new-bucket", "kept")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a file that did not change was sent: %v", err)
	}
}

func TestABucketWithoutCreateIsNotCreated(t *testing.T) {
	s := newStore(t)
	err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{bucketAt("absent", t.TempDir())}}, s.variables())
	if err == nil || !strings.Contains(err.Error(), "s3://absent does not exist") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "absent")); err == nil {
		t.Error("the bucket was created")
	}
}

func TestASourceThatIsAFile(t *testing.T) {
	s := newStore(t)
	b := bucketAt("new-bucket", t.TempDir())
	dir := t.TempDir()
	b.Create, b.Files = true, map[string]string{"": dir}
	if err := os.WriteFile(filepath.Join(dir, singleFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{b}}, s.variables())
	if err == nil || !strings.Contains(err.Error(), "name the directory") {
		t.Error(err)
	}
}

// TestAListOfSources uploads a directory and a file, each under its name.
func TestAListOfSources(t *testing.T) {
	s := newStore(t)
	b := bucketAt("new-bucket", t.TempDir())
	b.Create, b.Files = true, map[string]string{"dir": t.TempDir(), "file.txt": t.TempDir()}
	for path, text := range map[string]string{filepath.Join(b.Files["dir"], "a"): "1", filepath.Join(b.Files["file.txt"], singleFile): "2"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time, the bucket has the files
		if err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{b}}, s.variables()); err != nil {
			t.Fatal(err)
		}
		if got := sumsOf(t, b.Dir); len(got) != 2 || !s.has("new-bucket", "dir/a", "1") || !s.has("new-bucket", "file.txt", "2") {
			t.Errorf("the node has %v", got)
		}
	}
}
