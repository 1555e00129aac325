package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// number returns the number in an environment variable.
func number(t *testing.T, variable, other string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), other))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestManyFilesAndALargeFile fetches and sends many small files and a large file. K8S_CLI_TEST_BUCKET_FILES
// is the number of the small files, and K8S_CLI_TEST_BUCKET_LARGE the size of the large file in MB; `make
// test-buckets` sets both.
func TestManyFilesAndALargeFile(t *testing.T) {
	count, large := number(t, "K8S_CLI_TEST_BUCKET_FILES", "1000"), number(t, "K8S_CLI_TEST_BUCKET_LARGE", "20")
	s := newStore(t)
	sizes := map[string]int{}
	for i := range count {
		sizes[fmt.Sprintf("small/%d/%d", i%100, i)] = i % 3000
	}
	want := s.fill(t, "data", sizes)
	want["large"] = writeLarge(t, filepath.Join(s.dir, "data", "large"), large, 1)

	start := time.Now()
	n := newNode(t, s, "data")
	t.Logf("fetched %d files of at most 3 kB and one of %d MB in %s", count, large, time.Since(start))
	if got := sumsOf(t, n.Buckets[0].Dir); !equal(got, want) {
		t.Fatalf("%d files arrived, or other bytes; want %d", len(got), len(want))
	}

	start = time.Now()
	for i := range count {
		n.write(t, fmt.Sprintf("sent/%d/%d", i%100, i), strconv.Itoa(i))
	}
	sum := writeLarge(t, filepath.Join(n.Buckets[0].Dir, "sent", "large"), large, 2)
	if got := n.resultWithin(t, time.Hour); got != allStored {
		t.Fatal(got)
	}
	t.Logf("sent %d files and one of %d MB in %s", count, large, time.Since(start))
	got := sumsOf(t, filepath.Join(s.dir, "data", "sent"))
	if len(got) != count+1 || got["large"] != sum {
		t.Errorf("the bucket has %d files and %s as the sum of the large file, want %d and %s", len(got), got["large"], count+1, sum)
	}
	for i := range count {
		if name := fmt.Sprintf("%d/%d", i%100, i); got[name] != fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(i)))) {
			t.Errorf("%s has other bytes in the bucket", name)
		}
	}
}

// writeLarge writes random MB to a file without holding them in memory, and returns their sum.
func writeLarge(t *testing.T, path string, size int, seed byte) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(f, sum), rand.NewChaCha8([32]byte{seed}), int64(size)*1_000_000)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestFullDisk fetches a bucket to a file system that is too small.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := newStore(t)
	s.fill(t, "data", map[string]int{"a": 100_000, "large": 2 << 20})
	err := fetch(t.Context(), t, plan{Max: 1 << 30, Buckets: []bucket{bucketAt("data", filepath.Join(dir, "0"))}}, s.variables())
	if err == nil || !strings.Contains(err.Error(), "cannot copy s3://data: the disk of the machine is full") || !strings.Contains(err.Error(), "resources.ephemeral_storage") {
		t.Error(err)
	}
}
