package blob

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// filesOf returns files on a connection, whose requests last as long as a slow machine needs.
func filesOf(t *testing.T, nc *natsconn.Conn) *Files {
	t.Helper()
	f, err := NewFiles(nc, streams.Settings{})
	if err == nil {
		f.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(natstest.Timeout))
	}
	must.Succeed(t, err)
	return f
}

// newFiles returns files on a NATS server of their own.
func newFiles(t *testing.T) *Files {
	t.Helper()
	return filesOf(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())))
}

// While maxTransfers chunks are in flight, no other chunk is sent or requested.
func TestTransfersAreBounded(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	uploads, err := files.OpenUploadStore(t.Context())
	must.Succeed(t, err)
	blobs, err := files.OpenLogArchive(t.Context(), 64<<20)
	must.Succeed(t, err)
	if _, err := uploads.Store(t.Context(), "ann/a", bytes.NewReader(noise(3))); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, blobs.Store(t.Context(), "log", nil, noise(3)))
	transfers := map[string]func(context.Context) error{
		"download": func(ctx context.Context) error { _, err := io.ReadAll(uploads.Open(ctx, "ann/a")); return err },
		"upload": func(ctx context.Context) error {
			_, err := uploads.Store(ctx, "ann/b", bytes.NewReader(noise(3)))
			return err
		},
		"read a log":  func(ctx context.Context) error { _, _, err := blobs.Get(ctx, "log"); return err },
		"store a log": func(ctx context.Context) error { return blobs.Store(ctx, "other", nil, noise(3)) },
	}
	for range maxTransfers {
		if _, err := files.transfers.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, transfer := range transfers {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := transfer(ctx); err == nil {
			t.Errorf("%s: it was not held back", name)
		}
		cancel()
	}
	for range maxTransfers {
		<-files.transfers
	}
	for name, transfer := range transfers {
		if err := transfer(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
