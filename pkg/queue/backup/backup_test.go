package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// fill creates every stream of the server, with some data in each. The log is truncated.
func fill(t *testing.T, nc *nats.Conn, replicas int) {
	t.Helper()
	js := natstest.JetStream(t, nc)
	ctx := natstest.Context(t)
	for _, name := range streams.All {
		if bucket, ok := strings.CutPrefix(name, "OBJ_"); ok {
			if _, err := streams.CreateObjectStore(ctx, js, jetstream.ObjectStoreConfig{Bucket: bucket, Replicas: replicas, Compression: true}); err != nil {
				t.Fatal(err)
			}
			put(t, js, bucket, "first")
			continue
		}
		c := jetstream.StreamConfig{Name: name, Subjects: []string{"of." + name + ".>"}, Replicas: replicas, Metadata: map[string]string{"about": name}}
		if _, err := streams.Create(ctx, js, c); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if _, err := js.Publish(ctx, fmt.Sprintf("of.%s.%d", name, i), random(t, 20<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, err := js.Stream(ctx, subject.LogStream)
	if err == nil {
		err = log.Purge(ctx, jetstream.WithPurgeSequence(20))
	}
	must.Succeed(t, err)
}

// put stores an object that takes several chunks of a backup.
func put(t *testing.T, js jetstream.JetStream, bucket, name string) {
	t.Helper()
	store, err := js.ObjectStore(natstest.Context(t), bucket)
	if err == nil {
		_, err = store.PutBytes(natstest.Context(t), name, random(t, 3*chunkBytes))
	}
	must.Succeed(t, err)
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

// content returns all messages of all streams in the account, with the settings of the streams.
func content(t *testing.T, nc *nats.Conn) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	list := natstest.JetStream(t, nc).ListStreams(natstest.Context(t))
	for info := range list.Info() {
		s, c := info.State, info.Config
		name := c.Name
		all[name] = append(all[name], fmt.Sprintf("%d to %d, %q %q %s", s.FirstSeq, s.LastSeq, c.Subjects, c.Metadata["about"], c.Compression))
		stream := natstest.Stream(t, nc, name)
		for seq := s.FirstSeq; seq <= s.LastSeq && s.Msgs > 0; seq++ {
			m, err := stream.GetMsg(natstest.Context(t), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			must.Succeed(t, err)
			all[name] = append(all[name], fmt.Sprintf("%d %s %v %x", m.Sequence, m.Subject, m.Header, m.Data))
		}
	}
	must.Succeed(t, list.Err())
	return all
}

func nothing(Stream) {}

// backedUp returns a connection to a NATS server with all streams, and their backup.
func backedUp(t *testing.T) (nc *nats.Conn, dir string) {
	t.Helper()
	nc, dir = natstest.Serve(t).Dial(t), t.TempDir()
	fill(t, nc, 1)
	must.Succeed(t, Write(natstest.Context(t), nc, dir, nothing))
	return nc, dir
}

// A backup of three nodes, restored on three other nodes, has every stream with every message.
func TestRestoreReturnsEveryStream(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	from, to := natstest.StartCluster(t).Dial(t, 0), natstest.StartCluster(t).Dial(t, 1)
	fill(t, from, 3)
	want := content(t, from)
	if len(want) != len(streams.All) {
		t.Fatalf("%d streams, want %d", len(want), len(streams.All))
	}
	dir := filepath.Join(t.TempDir(), "backup")
	var copied, restored []string
	must.Succeed(t, Write(natstest.Context(t), from, dir, func(s Stream) { copied = append(copied, s.Name) }))
	must.Succeed(t, Restore(natstest.Context(t), to, dir, Options{}, func(s Stream) { restored = append(restored, s.Name) }))
	if diff := cmp.Diff(want, content(t, to)); diff != "" {
		t.Errorf("streams (-before +restored):\n%.2000s", diff)
	}
	if !cmp.Equal(copied, streams.All) || !cmp.Equal(restored, streams.All) {
		t.Errorf("copied %q, restored %q, want %q", copied, restored, streams.All)
	}
	for _, name := range streams.All {
		stream := natstest.Stream(t, to, name)
		if got := stream.CachedInfo().Config.Replicas; got != 3 {
			t.Errorf("stream %s has %d replicas", name, got)
		}
		if name != subject.LogStream {
			must.Succeed(t, natstest.JetStream(t, to).DeleteStream(natstest.Context(t), name))
		}
	}
	copied = nil
	err := Write(natstest.Context(t), to, t.TempDir(), func(s Stream) { copied = append(copied, s.Name) })
	if err == nil || !strings.Contains(err.Error(), "the server replaced its snapshots") || len(copied) > 0 { // the log is truncated, and no snapshot exists
		t.Errorf("a cluster with the log alone: copied %q, %v", copied, err)
	}
}

func TestRestoreReplacesStreamsOnlyIfAsked(t *testing.T) {
	t.Parallel()
	nc, dir := backedUp(t)
	want := content(t, nc)
	if _, err := natstest.JetStream(t, nc).Publish(natstest.Context(t), "of.LOG.later", nil); err != nil {
		t.Fatal(err)
	}
	err := Restore(natstest.Context(t), nc, dir, Options{}, nothing)
	if err == nil || !strings.Contains(err.Error(), "with --replace, restore deletes these streams first") {
		t.Errorf("error %v", err)
	}
	must.Succeed(t, Restore(natstest.Context(t), nc, dir, Options{Replace: true}, nothing))
	if diff := cmp.Diff(want, content(t, nc)); diff != "" {
		t.Errorf("streams (-before +restored):\n%.2000s", diff)
	}
}

func TestRestoreSetsReplicas(t *testing.T) {
	t.Parallel()
	_, dir := backedUp(t)
	err := Restore(natstest.Context(t), natstest.Serve(t).Dial(t), dir, Options{Replicas: 3}, nothing)
	if err == nil || !strings.Contains(err.Error(), "replicas > 1 not supported in non-clustered mode") {
		t.Errorf("three replicas on one server: error %v", err)
	}
}

func TestRestoreRefusesARunningServer(t *testing.T) {
	t.Parallel()
	nc, dir := backedUp(t)
	reader, err := natstest.JetStream(t, nc).OrderedConsumer(natstest.Context(t), subject.LogStream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	must.Succeed(t, err)
	reading, err := reader.Consume(func(jetstream.Msg) {})
	must.Succeed(t, err)
	defer reading.Stop()
	natstest.Eventually(t, "a refusal", func() bool { // the request of the reader may arrive late
		err := Restore(natstest.Context(t), nc, dir, Options{}, nothing)
		return err != nil && strings.Contains(err.Error(), "a server reads the log; stop every server")
	})
}

func TestDamagedBackupsAreRefusedBeforeAChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"the backup did not finish", func(t *testing.T, dir string) { remove(t, dir, manifestFile) }, "the backup did not finish"},
		{"a file is missing", func(t *testing.T, dir string) { remove(t, dir, "OBJ_OUTPUTS.s2") }, "OBJ_OUTPUTS.s2: no such file"},
		{"a file is cut off", func(t *testing.T, dir string) {
			must.Succeed(t, os.Truncate(filepath.Join(dir, "LOG.s2"), 1000))
		}, "LOG.s2 differs from its SHA-256"},
		{"a stream of a later release", func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, manifestFile), `"name": "LOG"`, `"name": "MORE"`)
		}, "stream MORE, which this release does not know"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nc, dir := backedUp(t)
			before := content(t, nc)
			tt.damage(t, dir)
			err := Restore(natstest.Context(t), nc, dir, Options{Replace: true}, nothing)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(before, content(t, nc)); diff != "" {
				t.Errorf("the refused restore changed streams (-before +after):\n%.2000s", diff)
			}
		})
	}
}

func remove(t *testing.T, dir, file string) {
	t.Helper()
	must.Succeed(t, os.Remove(filepath.Join(dir, file)))
}

func rewrite(t *testing.T, file, old, replacement string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(raw, []byte(old), []byte(replacement), 1), 0o600)
	}
	must.Succeed(t, err)
}

// If the server replaces all copied snapshots before the log is copied, the backup copies both
// again.
func TestLogContinuesWhereACopiedSnapshotEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		replaced int // in how many attempts the snapshots are replaced
		want     string
	}{
		{"once", 1, ""},
		{"each time", maxAttempts, "the server replaced its snapshots while the backup ran"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nc, dir := natstest.Serve(t).Dial(t), t.TempDir()
			fill(t, nc, 1)
			js, attempts := natstest.JetStream(t, nc), 0
			err := Write(natstest.Context(t), nc, dir, func(s Stream) {
				if s.Name != "OBJ_"+streams.SnapshotBucket {
					return
				}
				if attempts++; attempts > tt.replaced {
					return
				}
				put(t, js, streams.SnapshotBucket, "first") // replaces the object
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if want := min(tt.replaced+1, maxAttempts); attempts != want {
				t.Errorf("%d attempts, want %d", attempts, want)
			}
			if _, err := load(dir); (err == nil) != (tt.want == "") {
				t.Errorf("the backup is complete: %v", err)
			}
		})
	}
}

func TestBackupNeedsAnEmptyDirectoryAndStreams(t *testing.T) {
	t.Parallel()
	nc, dir := backedUp(t)
	if err := Write(natstest.Context(t), nc, dir, nothing); err == nil || !strings.Contains(err.Error(), "is not empty; name a new directory") {
		t.Errorf("a directory with a backup: error %v", err)
	}
	if err := Write(natstest.Context(t), natstest.Serve(t).Dial(t), t.TempDir(), nothing); err == nil || !strings.Contains(err.Error(), "has no stream of k8s-cli") {
		t.Errorf("NATS without streams: error %v", err)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	t.Parallel()
	nc := natstest.Serve(t).Dial(t)
	fill(t, nc, 1)
	ctx, cancel := context.WithCancel(natstest.Context(t))
	dir := t.TempDir()
	err := Write(ctx, nc, dir, func(Stream) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := load(dir); err == nil {
		t.Error("the interrupted backup is complete")
	}
}
