package queue

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// openFiles returns the files of a log on a connection of their own.
func openFiles(t *testing.T, nc *natsconn.Conn) *blob.Files {
	t.Helper()
	f, err := blob.NewFiles(nc, streams.Settings{})
	must.Succeed(t, err)
	return f
}

// Files use a connection of their own, both with the embedded NATS and with an external one.
func TestFilesLeaveTheConnectionOfTheLogAlone(t *testing.T) {
	t.Parallel()
	embedded, external := natstest.Embed(t, t.TempDir()), natstest.Serve(t)
	for name, connect := range map[string]func() *natsconn.Conn{
		"embedded": func() *natsconn.Conn { return natstest.Connect(t, embedded) },
		"external": func() *natsconn.Conn { return external.Dial(t) },
	} {
		t.Run(name, func(t *testing.T) {
			log, nc := follow(t, connect(), Config{}, &fakeStateMachine{}), connect()
			files := openFiles(t, nc)
			uploads, err := files.OpenUploadStore(natstest.Context(t))
			must.Succeed(t, err)
			blobs, err := files.OpenLogArchive(natstest.Context(t), 64<<20)
			must.Succeed(t, err)
			content := noise(natstest.Rounds(1 << 20))
			before := log.nats.Stats()
			if _, err := uploads.Store(natstest.Context(t), "ann/a", bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			must.Succeed(t, blobs.Store(natstest.Context(t), "log", nil, content))
			var readers sync.WaitGroup
			for range 16 {
				readers.Go(func() {
					var got []byte
					natstest.Patiently(t, func() (err error) {
						got, err = io.ReadAll(uploads.Open(t.Context(), "ann/a"))
						return err
					})
					if !bytes.Equal(got, content) {
						t.Errorf("read %d bytes of %d", len(got), len(content))
					}
				})
			}
			readers.Wait()
			var got []byte
			natstest.Patiently(t, func() (err error) {
				_, got, err = blobs.Get(t.Context(), "log")
				return err
			})
			if !bytes.Equal(got, content) {
				t.Errorf("read %d bytes of the log", len(got))
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
