package streams

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
)

func openCheckpoint(t *testing.T, nc *natsconn.Conn) *Checkpoint {
	t.Helper()
	c, err := NewCheckpoint(nc, CheckpointConfig{
		Settings: Settings{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
		Stream:   "NOTIFICATIONS", Subject: "positions", Embedded: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantLoaded loads the document and checks it.
func wantLoaded(t *testing.T, c *Checkpoint, want string) {
	t.Helper()
	got, err := c.Load(t.Context())
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("loaded %q, %v, want %q", got, err, want)
	}
}

func storeDocument(t *testing.T, c *Checkpoint, document string, want error) {
	t.Helper()
	if err := c.Store(t.Context(), []byte(document)); !errors.Is(err, want) {
		t.Errorf("store %q: %v, want %v", document, err, want)
	}
}

// A former leader that stores a document does not overwrite that of the present leader.
func TestOnlyTheLastToLoadStores(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	nc := natstest.Connect(t, server)
	former, present := openCheckpoint(t, nc), openCheckpoint(t, nc)
	wantLoaded(t, former, "")
	wantLoaded(t, present, "")
	storeDocument(t, former, "a", nil)
	storeDocument(t, former, "b", nil)
	storeDocument(t, present, "x", ErrConflict)
	wantLoaded(t, present, "b")
	storeDocument(t, present, "c", nil)
	storeDocument(t, former, "d", ErrConflict)
	storeDocument(t, present, "e", nil)
	wantLoaded(t, openCheckpoint(t, nc), "e")
	stream := natstest.Stream(t, nc, "NOTIFICATIONS")
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the stream has %d documents", n)
	}
}

func TestCheckpointSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := natstest.Embed(t, dir)
	nc := natstest.Connect(t, server)
	c := openCheckpoint(t, nc)
	wantLoaded(t, c, "")
	storeDocument(t, c, "a", nil)
	nc.Close()
	server.Close()
	wantLoaded(t, openCheckpoint(t, natstest.Connect(t, natstest.Embed(t, dir))), "a")
}
