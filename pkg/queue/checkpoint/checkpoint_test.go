package checkpoint

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

func open(t *testing.T, nc *natsconn.Conn) *Checkpoint {
	t.Helper()
	c, err := New(nc, Config{
		Settings: streams.Settings{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
		Stream:   "NOTIFICATIONS", Subject: "positions", Embedded: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// load loads the document and checks it.
func load(t *testing.T, c *Checkpoint, want string) {
	t.Helper()
	got, err := c.Load(t.Context())
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("loaded %q, %v, want %q", got, err, want)
	}
}

func store(t *testing.T, c *Checkpoint, document string, want error) {
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
	former, present := open(t, nc), open(t, nc)
	load(t, former, "")
	load(t, present, "")
	store(t, former, "a", nil)
	store(t, former, "b", nil)
	store(t, present, "x", ErrConflict)
	load(t, present, "b")
	store(t, present, "c", nil)
	store(t, former, "d", ErrConflict)
	store(t, present, "e", nil)
	load(t, open(t, nc), "e")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "NOTIFICATIONS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("the stream has %d documents", n)
	}
}

func TestCheckpointSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := natstest.Embed(t, dir)
	nc := natstest.Connect(t, server)
	c := open(t, nc)
	load(t, c, "")
	store(t, c, "a", nil)
	nc.Close()
	server.Close()
	load(t, open(t, natstest.Connect(t, natstest.Embed(t, dir))), "a")
}
