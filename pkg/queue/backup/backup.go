// Package backup copies the streams of NATS to a directory, and back.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

const (
	chunkBytes    = 128 << 10
	answerTimeout = time.Minute      // for one answer of NATS, or the next chunk
	createTimeout = 15 * time.Minute // for NATS to create a stream from its chunks
	maxAttempts   = 3                // to copy the log while the server replaces its snapshots
)

// Write copies all streams of the server to dir, which must be empty or missing, and passes each
// copy to done. The server may run meanwhile. Write omits streams that do not exist.
func Write(ctx context.Context, nc *natsconn.Conn, dir string, done func(Stream)) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	m := manifest{Created: time.Now().UTC()}
	for attempt := 1; ; attempt++ {
		if err := makeEmpty(dir); err != nil {
			return err
		}
		m.Streams, err = copyAll(ctx, nc, js, dir, done)
		if !errors.Is(err, errUncovered) || attempt == maxAttempts {
			break
		}
		for _, name := range streams.All {
			if err := os.Remove(Stream{Name: name}.file(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if err == nil && len(m.Streams) == 0 {
		err = errors.New("this account of NATS has no stream of k8s-cli; check the URL and the credentials")
	}
	if err != nil {
		return err
	}
	return m.store(dir)
}

// errUncovered means that the copy of the log does not continue where a copied snapshot ends.
var errUncovered = errors.New("the server replaced its snapshots while the backup ran; use a faster connection to NATS")

func copyAll(ctx context.Context, nc *natsconn.Conn, js jetstream.JetStream, dir string, done func(Stream)) ([]Stream, error) {
	before, err := snapshots(ctx, js)
	if err != nil {
		return nil, err
	}
	var all []Stream
	for _, name := range streams.All {
		exists, err := streamExists(ctx, js, name)
		if err == nil && !exists {
			continue
		}
		var s Stream
		if err == nil {
			s, err = copyStream(ctx, nc, name, dir)
		}
		if err != nil {
			return nil, fmt.Errorf("back up stream %s: %w", name, err)
		}
		if name == subject.LogStream && s.State.FirstSeq > 1 {
			after, err := snapshots(ctx, js)
			if err != nil {
				return nil, err
			}
			// The server truncates the log only up to snapshots that it retains.
			if !slices.ContainsFunc(before, func(id string) bool { return slices.Contains(after, id) }) {
				return nil, errUncovered
			}
		}
		all = append(all, s)
		done(s)
	}
	return all, nil
}

// streamExists reports whether NATS has a stream. In a cluster, no server answers a request for the
// snapshot of a stream that does not exist.
func streamExists(ctx context.Context, js jetstream.JetStream, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, err
}

// snapshots returns the ids of the snapshots in NATS.
func snapshots(ctx context.Context, js jetstream.JetStream) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	bucket, err := js.ObjectStore(ctx, streams.SnapshotBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	var objects []*jetstream.ObjectInfo
	if err == nil {
		objects, err = bucket.List(ctx)
	}
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	for _, o := range objects {
		ids = append(ids, o.NUID)
	}
	return ids, nil
}

// copyStream writes the copy of one stream to its file in dir.
func copyStream(ctx context.Context, nc *natsconn.Conn, name, dir string) (s Stream, err error) {
	s.Name = name
	chunks, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return s, err
	}
	defer func() { _ = chunks.Unsubscribe() }()
	if err := chunks.SetPendingLimits(-1, -1); err != nil { // JetStream limits the chunks in flight
		return s, err
	}
	var answer struct {
		Config json.RawMessage `json:"config"`
		State  State           `json:"state"`
	}
	if err := ask(ctx, nc, "SNAPSHOT."+name, map[string]any{"deliver_subject": chunks.Subject, "no_consumers": true, "chunk_size": chunkBytes}, &answer); err != nil {
		return s, err
	}
	s.Config, s.State = answer.Config, answer.State
	f, err := os.OpenFile(s.file(dir), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return s, err
	}
	sum := sha256.New()
	s.Bytes, err = receive(ctx, chunks, io.MultiWriter(f, sum))
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s, errors.Join(err, f.Sync(), f.Close())
}

// receive writes the chunks of a snapshot to w. A message without data ends the snapshot.
func receive(ctx context.Context, chunks *nats.Subscription, w io.Writer) (size int64, err error) {
	for number := 1; ; number++ {
		m, err := next(ctx, chunks)
		if err != nil {
			return size, err
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return size, fmt.Errorf("NATS ended the copy: %s %s", status, m.Header.Get("Description"))
			}
			return size, nil
		}
		n, err := w.Write(m.Data)
		size += int64(n)
		if err != nil {
			return size, err
		}
		if m.Reply == "" { // the last chunk
			continue
		}
		if got := m.Reply[strings.LastIndexByte(m.Reply, '.')+1:]; got != strconv.Itoa(number) {
			return size, fmt.Errorf("chunk %s arrived instead of chunk %d", got, number)
		}
		if err := m.Respond(nil); err != nil {
			return size, err
		}
	}
}

func next(ctx context.Context, chunks *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return chunks.NextMsgWithContext(ctx)
}

// ask sends a request about a stream to JetStream and decodes the answer.
func ask(ctx context.Context, nc *natsconn.Conn, what string, request, answer any) error {
	raw, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM."+what, raw)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("NATS did not answer within %s: %w; check that most NATS nodes run", answerTimeout, err)
	}
	if err != nil {
		return err
	}
	return decode(m, answer)
}

// decode decodes an answer of JetStream. The error is a *jetstream.APIError if JetStream
// rejected the request.
func decode(m *nats.Msg, answer any) error {
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	err := json.Unmarshal(m.Data, &failed)
	if err == nil && failed.Error != nil {
		return failed.Error
	}
	if err == nil {
		err = json.Unmarshal(m.Data, answer)
	}
	if err != nil {
		return fmt.Errorf("read an answer of NATS: %w", err)
	}
	return nil
}
