package blob

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func openUploads(t *testing.T, files *Files) *Uploads {
	t.Helper()
	u, err := files.OpenUploadStore(t.Context())
	must.Succeed(t, err)
	return u
}

func TestUploadsAreStored(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	for name, content := range map[string][]byte{
		"ann/empty": nil, "ann/small": []byte("x"), "ann/part": noise(chunkSize), "ann/two": noise(chunkSize + 1), "bob/many": noise(3*chunkSize - 1),
	} {
		size, err := u.Store(t.Context(), name, iotest.HalfReader(bytes.NewReader(content)))
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%s: %d bytes, %v", name, size, err)
		}
		again := openUploads(t, files)
		got, err := io.ReadAll(again.Open(t.Context(), name))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(content), err)
		}
		if ok, err := again.Exists(t.Context(), name); !ok || err != nil {
			t.Errorf("%s is stored: %v, %v", name, ok, err)
		}
	}
	all, err := u.List(t.Context())
	if err != nil || len(all) != 5 || !slices.Contains(all, "bob/many") {
		t.Errorf("list: %v, %v", all, err)
	}
	for range 2 {
		must.Succeed(t, u.Remove(t.Context(), "bob/many", "ann/part"))
	}
	if ok, err := u.Exists(t.Context(), "bob/many"); ok || err != nil {
		t.Errorf("what was dropped is stored: %v, %v", ok, err)
	}
	if _, err := io.ReadAll(u.Open(t.Context(), "bob/many")); !errors.Is(err, problem.NotFound) {
		t.Errorf("what was dropped reads as %v", err)
	}
	if all, err := u.List(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("list: %v, %v", all, err)
	}
}

// An upload that breaks off leaves no chunks behind.
func TestAnUploadThatBreaksOff(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	torn := errors.New("torn")
	r := io.MultiReader(bytes.NewReader(noise(chunkSize+100)), iotest.ErrReader(torn))
	if _, err := u.Store(t.Context(), "ann/torn", r); !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
	if left, err := u.bucket.state(t.Context(), ">"); err != nil || left.State.Msgs != 0 {
		t.Errorf("left: %+v, %v", left.State, err)
	}
}

// A full store returns an error, and later accepts an upload that fits.
func TestUploadsThatDoNotFit(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	u := openUploads(t, files)
	stream, err := files.js.Stream(t.Context(), u.bucket.stream())
	must.Succeed(t, err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 3 * chunkSize
	if _, err := files.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Store(t.Context(), "ann/large", bytes.NewReader(noise(4*chunkSize))); !errors.Is(err, problem.Unavailable) {
		t.Errorf("%v", err)
	}
	if _, err := u.Store(t.Context(), "ann/small", bytes.NewReader(noise(2*chunkSize))); err != nil {
		t.Errorf("what would fit: %v", err)
	}
}

// The chunks of an upload whose process died are removed. The chunks of an upload that goes on stay.
func TestTornUploadsAreRemoved(t *testing.T) {
	t.Parallel()
	u := openUploads(t, newFiles(t))
	b := u.bucket
	if _, err := u.Store(t.Context(), "ann/whole", bytes.NewReader(noise(10))); err != nil {
		t.Fatal(err)
	}
	torn, slow := b.newObject(jetstream.ObjectMeta{Name: "ann/torn"}), b.newObject(jetstream.ObjectMeta{Name: "ann/slow"})
	send := func(info *jetstream.ObjectInfo) {
		t.Helper()
		must.Succeed(t, b.sendChunk(t.Context(), info, noise(10)))
	}
	send(torn)
	send(slow)
	now := time.Now()
	sweep := func(after time.Duration, want ...uint64) {
		t.Helper()
		must.Succeed(t, u.RemoveTorn(t.Context(), now.Add(after)))
		state, err := b.state(t.Context(), b.chunkSubject(">"))
		must.Succeed(t, err)
		left := []uint64{state.State.Subjects[b.chunkSubject(torn.NUID)], state.State.Subjects[b.chunkSubject(slow.NUID)]}
		if !slices.Equal(left, want) {
			t.Errorf("after %s %d chunks are left, want %d", after, left, want)
		}
	}
	sweep(0, 1, 1)
	send(slow)
	sweep(tornGrace, 1, 2)
	sweep(tornGrace+time.Minute, 0, 2)
	must.Succeed(t, b.sendInfo(t.Context(), slow))
	sweep(3*tornGrace, 0, 2)
	if ok, err := u.Exists(t.Context(), "ann/whole"); !ok || err != nil {
		t.Errorf("the whole upload is stored: %v, %v", ok, err)
	}
}
