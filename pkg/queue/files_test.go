package queue

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
)

// filesOf returns the files beside a log, on a connection.
func filesOf(t *testing.T, l *Log, nc *natsconn.Conn) *Files {
	t.Helper()
	f, err := l.OpenFiles(nc)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Files go over their own connection, of the embedded NATS and of another one.
func TestFilesLeaveTheConnectionOfTheLogAlone(t *testing.T) {
	embedded, external := natstest.Embed(t, t.TempDir()), natstest.Serve(t)
	for name, connect := range map[string]func() *natsconn.Conn{
		"embedded": func() *natsconn.Conn { return natstest.Connect(t, embedded) },
		"external": func() *natsconn.Conn { return external.Dial(t) },
	} {
		t.Run(name, func(t *testing.T) {
			log, nc := follow(t, connect(), Config{}, &fakeStateMachine{}), connect()
			files := filesOf(t, log.Log, nc)
			uploads, err := files.OpenUploads(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			blobs, err := files.OpenBlobs(t.Context(), 64<<20)
			if err != nil {
				t.Fatal(err)
			}
			content := noise(16*partSize + 1)
			before := log.nats.Stats()
			if _, err := uploads.Store(t.Context(), "ann/a", bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			if err := blobs.Store(t.Context(), "log", nil, content); err != nil {
				t.Fatal(err)
			}
			var readers sync.WaitGroup
			for range 64 {
				readers.Go(func() {
					got, err := io.ReadAll(uploads.Open(t.Context(), "ann/a", int64(len(content))))
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("read %d bytes of %d: %v", len(got), len(content), err)
					}
				})
			}
			readers.Wait()
			if _, got, err := blobs.Get(t.Context(), "log"); err != nil || !bytes.Equal(got, content) {
				t.Errorf("read %d bytes of the log: %v", len(got), err)
			}
			after := log.nats.Stats()
			if n := after.InBytes - before.InBytes + after.OutBytes - before.OutBytes; n > uint64(len(content))/4 {
				t.Errorf("%d bytes went over the connection of the log", n)
			}
			if n := nc.Stats().Reconnects; n > 0 {
				t.Errorf("the connection for files was lost %d times", n)
			}
		})
	}
}

// While the chunks in flight are as many as may be, no other one is sent or asked for.
func TestTransfersAreBounded(t *testing.T) {
	nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
	files := filesOf(t, open(t, nc, Config{SingleWriter: true}), nc)
	uploads, err := files.OpenUploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := files.OpenBlobs(t.Context(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uploads.Store(t.Context(), "ann/a", bytes.NewReader(noise(3))); err != nil {
		t.Fatal(err)
	}
	if err := blobs.Store(t.Context(), "log", nil, noise(3)); err != nil {
		t.Fatal(err)
	}
	transfers := map[string]func(context.Context) error{
		"download": func(ctx context.Context) error { _, err := io.ReadAll(uploads.Open(ctx, "ann/a", 3)); return err },
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
