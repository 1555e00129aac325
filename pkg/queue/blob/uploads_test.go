package blob

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"k8s-cli/pkg/task"
)

func openUploads(t *testing.T, files *Files) *Uploads {
	t.Helper()
	u, err := files.OpenUploadStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUploadsAreStored(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	for name, content := range map[string][]byte{
		"ann/empty": nil, "ann/small": []byte("x"), "ann/part": noise(partSize), "ann/two": noise(partSize + 1), "bob/many": noise(3*partSize - 1),
	} {
		size, err := u.Store(t.Context(), name, iotest.HalfReader(bytes.NewReader(content)))
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%s: %d bytes, %v", name, size, err)
		}
		again := openUploads(t, files)
		got, err := io.ReadAll(again.Open(t.Context(), name, size))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(content), err)
		}
		if ok, err := again.Exists(t.Context(), name, size); !ok || err != nil {
			t.Errorf("%s is stored: %v, %v", name, ok, err)
		}
	}
	all, err := u.List(t.Context())
	if err != nil || len(all) != 4 || all["bob/many"].IsZero() { // nothing is stored of the empty upload
		t.Errorf("list: %v, %v", all, err)
	}
	for range 2 {
		if err := u.Remove(t.Context(), "bob/many", "ann/part"); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := u.Exists(t.Context(), "bob/many", 3*partSize-1); ok || err != nil {
		t.Errorf("what was dropped is stored: %v, %v", ok, err)
	}
	if _, err := io.ReadAll(u.Open(t.Context(), "bob/many", 3*partSize-1)); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("what was dropped reads as %v", err)
	}
	if all, err := u.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("list: %v, %v", all, err)
	}
}

// An upload that breaks off leaves no parts behind.
func TestAnUploadThatBreaksOff(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	torn := errors.New("torn")
	r := io.MultiReader(bytes.NewReader(noise(partSize+100)), iotest.ErrReader(torn))
	if _, err := u.Store(t.Context(), "ann/torn", r); !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
	if all, err := u.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

// A full store returns an error, and later accepts an upload that fits.
func TestUploadsThatDoNotFit(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	stream, err := files.js.Stream(t.Context(), u.bucket.stream())
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = 3 * partSize
	if _, err := files.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Store(t.Context(), "ann/large", bytes.NewReader(noise(4*partSize))); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := u.Store(t.Context(), "ann/small", bytes.NewReader(noise(2*partSize))); err != nil {
		t.Errorf("what would fit: %v", err)
	}
}
