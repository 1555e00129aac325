package events

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// openStream opens the stream of events.
func openStream(t *testing.T, nc *natsconn.Conn, c Config) jetstream.Stream {
	t.Helper()
	events, err := New(nc, nil, c)
	must.Succeed(t, err)
	var stream jetstream.Stream
	natstest.Eventually(t, "the events to open", func() bool {
		stream, err = events.open(t.Context())
		return err == nil
	})
	return stream
}

func TestOpenKeepsTheSettingsOfTheStream(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
	config := openStream(t, nc, Config{}).CachedInfo().Config
	if config.MaxAge != defaultRetention || config.MaxBytes != -1 {
		t.Errorf("a new stream keeps events for %s, up to %d bytes", config.MaxAge, config.MaxBytes)
	}
	js := natstest.JetStream(t, nc)
	config.MaxBytes, config.MaxAge = 12<<20, 48*time.Hour
	if _, err := js.UpdateStream(natstest.Context(t), config); err != nil {
		t.Fatal(err)
	}
	before := openStream(t, nc, Config{}).CachedInfo().Config
	after := openStream(t, nc, Config{Retention: time.Hour}).CachedInfo().Config
	if diff := cmp.Diff(before, after); diff != "" || after.MaxAge != 48*time.Hour {
		t.Errorf("settings (-before +after a pod with other flags started):\n%s", diff)
	}
}

func TestOpenKeepsTheReplicasOfTheStream(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	cluster := natstest.StartCluster(t)
	openStream(t, cluster.Dial(t, 0), Config{Settings: streams.Settings{Replicas: 3}})
	if n := openStream(t, cluster.Dial(t, 1), Config{}).CachedInfo().Config.Replicas; n != 3 {
		t.Errorf("after a pod without a number of replicas started, the stream has %d of 3", n)
	}
}
