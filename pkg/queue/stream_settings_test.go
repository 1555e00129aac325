package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// openAll opens the log and every store whose data is in streams.
func openAll(t *testing.T, nc *natsconn.Conn, c Config) *Log {
	t.Helper()
	log := open(t, nc, c)
	files, err := blob.NewFiles(nc, c.settings())
	must.Succeed(t, err)
	for what, openOne := range map[string]func() error{
		"uploads": func() error { _, err := files.OpenUploadStore(natstest.Context(t)); return err },
		"logs":    func() error { _, err := files.OpenLogArchive(natstest.Context(t), 20<<20); return err },
	} {
		natstest.Eventually(t, "the "+what+" to open", func() bool { return openOne() == nil })
	}
	return log
}

func settingsOf(t *testing.T, js jetstream.JetStream) map[string]jetstream.StreamConfig {
	t.Helper()
	all := map[string]jetstream.StreamConfig{}
	for stream := range js.ListStreams(natstest.Context(t)).Info() {
		all[stream.Config.Name] = stream.Config
	}
	return all
}

func TestOpenKeepsTheSettingsOfStreams(t *testing.T) {
	t.Parallel()
	nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
	js := openAll(t, nc, Config{}).js
	for _, config := range settingsOf(t, js) {
		config.MaxBytes = 12 << 20
		if _, err := js.UpdateStream(natstest.Context(t), config); err != nil {
			t.Fatal(err)
		}
	}
	before := settingsOf(t, js)
	if len(before) != 5 {
		t.Fatalf("%d streams", len(before))
	}
	openAll(t, nc, Config{Replicas: 2})
	if diff := cmp.Diff(before, settingsOf(t, js)); diff != "" {
		t.Errorf("settings (-before +after a pod with other flags started):\n%s", diff)
	}
}

func TestOpenKeepsTheReplicasOfStreams(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	cluster := natstest.StartCluster(t)
	openAll(t, cluster.Dial(t, 0), Config{Replicas: 3})
	js := openAll(t, cluster.Dial(t, 1), Config{}).js
	for name, config := range settingsOf(t, js) {
		if config.Replicas != 3 {
			t.Errorf("after a pod without a number of replicas started, %s has %d of 3", name, config.Replicas)
		}
	}
}

func TestOpenRefusesALogThatLosesEntries(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]func(*jetstream.StreamConfig){
		"discards the oldest messages":           func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"drops messages that are older":          func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"holds at most 5 messages":               func(c *jetstream.StreamConfig) { c.MaxMsgs = 5 },
		"holds at most 7 messages of a":          func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 7 },
		"accepts messages of at most 1000 bytes": func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 },
		"has the retention policy":               func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy },
	} {
		t.Run(want, func(t *testing.T) {
			nc := natstest.Connect(t, natstest.Embed(t, t.TempDir()))
			js := natstest.JetStream(t, nc)
			config := jetstream.StreamConfig{Name: subject.LogStream, Subjects: []string{subject.Log}, Discard: jetstream.DiscardNew, MaxMsgSize: natsconn.MaxPayload}
			set(&config)
			if _, err := js.CreateStream(natstest.Context(t), config); err != nil {
				t.Fatal(err)
			}
			before := settingsOf(t, js)
			if _, err := Open(natstest.Context(t), nc, Config{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("open: %v", err)
			}
			if diff := cmp.Diff(before, settingsOf(t, js)); diff != "" {
				t.Errorf("settings (-before +after):\n%s", diff)
			}
		})
	}
}

func TestASmallMaxPayloadIsNoticedAtTheStart(t *testing.T) {
	t.Parallel()
	r := natstest.Serve(t)
	r.Down()
	r.Options.MaxPayload = 256 << 10
	r.Up(t)
	if _, err := Open(natstest.Context(t), r.Dial(t), Config{}); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("open: %v", err)
	}
}

// A server whose size limit was lowered rejects only messages that are too large.
func TestAnEntryThatNATSDoesNotTake(t *testing.T) {
	t.Parallel()
	r := natstest.Serve(t)
	folded := &fakeStateMachine{}
	log := follow(t, r.Dial(t), Config{}, folded)
	log.put(t, "before")
	r.Down()
	r.Options.MaxPayload = 256 << 10
	r.Up(t)
	log.put(t, "small")
	large := natstest.Submission("large")
	large.Submit.Task.Run = strings.Repeat("x", 300<<10)
	if _, err := log.Append(t.Context(), large); !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "nothing was stored") {
		t.Errorf("append: %v", err)
	}
	log.put(t, "after")
	folded.wantSeen(t, "before", "small", "after")
}
