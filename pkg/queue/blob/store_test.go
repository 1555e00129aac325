package blob

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func openLogs(t *testing.T, files *Files, limit int64) *Store {
	t.Helper()
	b, err := files.OpenLogArchive(t.Context(), limit)
	must.Succeed(t, err)
	return b
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func TestBlobsAreStored(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	b := openLogs(t, files, 64<<20)
	blobs := map[string][]byte{"a/0": noise(3), "a/1": noise(3*chunkSize + 7), "b/0": noise(chunkSize)}
	for name, blob := range blobs {
		must.Succeed(t, b.Store(t.Context(), name, map[string]string{"Of": name}, blob))
	}
	again := openLogs(t, files, 64<<20)
	for name, blob := range blobs {
		about, got, err := again.Get(t.Context(), name)
		if err != nil || about["Of"] != name || !bytes.Equal(got, blob) {
			t.Errorf("%s: %v, %d bytes, %v", name, about, len(got), err)
		}
	}
	all, err := again.List(t.Context())
	if names := slices.Sorted(maps.Keys(all)); err != nil || !slices.Equal(names, []string{"a/0", "a/1", "b/0"}) {
		t.Errorf("list %v, %v", names, err)
	}
	must.Succeed(t, b.Store(t.Context(), "a/0", nil, []byte("other")))
	if _, got, err := b.Get(t.Context(), "a/0"); err != nil || string(got) != "other" {
		t.Errorf("in the place of another: %q, %v", got, err)
	}
	for range 2 {
		must.Succeed(t, b.Remove(t.Context(), "a/1"))
	}
	if _, _, err := b.Get(t.Context(), "a/1"); !errors.Is(err, problem.NotFound) {
		t.Errorf("a blob that was dropped: %v", err)
	}
	if all, err = b.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("list %v, %v", all, err)
	}
}

// A full bucket drops its oldest blobs without an error.
func TestOldestBlobsAreEvicted(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	b := openLogs(t, files, 4<<20)
	if all, err := b.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("list of nothing: %v, %v", all, err)
	}
	const blobs = 10
	for i := range blobs {
		must.Succeed(t, b.Store(t.Context(), fmt.Sprintf("%02d/0", i), nil, noise(600<<10)))
	}
	all, err := b.List(t.Context())
	if err != nil || len(all) < 4 || len(all) > 6 {
		t.Fatalf("list %v, %v", all, err)
	}
	for i := blobs - len(all); i < blobs; i++ {
		if _, blob, err := b.Get(t.Context(), fmt.Sprintf("%02d/0", i)); err != nil || len(blob) != 600<<10 {
			t.Errorf("one of the youngest %d: %d bytes, %v", len(all), len(blob), err)
		}
	}
}
