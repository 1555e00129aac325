package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// An acknowledgement that is lost fails Put soon, though the context of Put lasts longer.
func TestALostAcknowledgementFailsPut(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	b, err := OpenBucket(t.Context(), files.js, streams.Settings{}, jetstream.ObjectStoreConfig{Bucket: "UPLOADS"})
	must.Succeed(t, err)
	content := noise(chunkSize + 1)
	if _, err := b.Put(t.Context(), jetstream.ObjectMeta{Name: "a"}, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	silence(t, b)
	b.ackTimeout = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := b.Put(ctx, jetstream.ObjectMeta{Name: "a"}, bytes.NewReader(noise(chunkSize+1))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without acknowledgements: %v", err)
	}
	info, err := b.Info(t.Context(), "a")
	must.Succeed(t, err)
	if got, err := b.Bytes(t.Context(), info); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the former object has %d bytes, %v", len(got), err)
	}
	state, err := b.state(t.Context(), "$O.UPLOADS.C.>")
	if err != nil || len(state.State.Subjects) != 1 {
		t.Errorf("chunks of %d objects are stored, %v", len(state.State.Subjects), err)
	}
}

// silence makes NATS store the messages of b without acknowledging them.
func silence(t *testing.T, b *Bucket) {
	t.Helper()
	stream, err := b.js.Stream(t.Context(), b.stream())
	must.Succeed(t, err)
	silent := stream.CachedInfo().Config
	silent.NoAck = true
	if _, err := b.js.UpdateStream(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
}

// A reader that calls atEnd before it returns io.EOF.
type endingReader struct {
	io.Reader
	atEnd func()
}

func (r endingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		r.atEnd()
	}
	return n, err
}

// If only the acknowledgement of the metadata is lost, the object is stored, so its chunks stay.
func TestALostAcknowledgementOfTheMetadataLosesNoChunks(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	b, err := OpenBucket(t.Context(), files.js, streams.Settings{}, jetstream.ObjectStoreConfig{Bucket: "UPLOADS"})
	must.Succeed(t, err)
	content := noise(chunkSize)
	from := endingReader{bytes.NewReader(content), func() {
		silence(t, b)
		b.ackTimeout = 100 * time.Millisecond
	}}
	if _, err := b.Put(t.Context(), jetstream.ObjectMeta{Name: "a"}, from); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without the last acknowledgement: %v", err)
	}
	info, err := b.Info(t.Context(), "a")
	must.Succeed(t, err)
	if got, err := b.Bytes(t.Context(), info); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the object has %d bytes, %v", len(got), err)
	}
}
