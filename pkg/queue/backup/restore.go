package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

// NATS may take some seconds to free the storage of deleted streams.
const (
	storagePause    = time.Second
	storageAttempts = 60
)

// Options are the settings of Restore.
type Options struct {
	Replace  bool // delete the streams that exist
	Replicas int  // replicas of the streams; 0 means those of the backup
}

// Restore copies the backup in dir to NATS and passes each restored stream to done. No server may
// run meanwhile. Restore checks the whole backup before it changes anything.
func Restore(ctx context.Context, nc *natsconn.Conn, dir string, o Options, done func(Stream)) error {
	m, err := load(dir)
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if err := clear(ctx, js, o.Replace); err != nil {
		return err
	}
	for _, s := range m.Streams {
		if err := s.restore(ctx, nc, dir, o.Replicas); err != nil {
			return fmt.Errorf("restore stream %s: %w; the restore is incomplete: start no server, and run restore again with --replace", s.Name, err)
		}
		done(s)
	}
	return nil
}

// clear deletes the streams of the server, or returns an error if there are some and replace is
// false.
func clear(ctx context.Context, js jetstream.JetStream, replace bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var present []string
	for _, name := range streams.All {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for stream %s: %w", name, err)
		}
		if name == subject.LogStream {
			if err := checkUnused(ctx, stream); err != nil {
				return err
			}
		}
		present = append(present, name)
	}
	if len(present) > 0 && !replace {
		return fmt.Errorf("NATS already has the streams %v; with --replace, restore deletes these streams first", present)
	}
	for _, name := range present {
		if err := js.DeleteStream(ctx, name); err != nil {
			return fmt.Errorf("delete stream %s: %w", name, err)
		}
	}
	return nil
}

// checkUnused returns an error if a client waits for entries of the log, as every server does.
func checkUnused(ctx context.Context, log jetstream.Stream) error {
	consumers := log.ListConsumers(ctx)
	for c := range consumers.Info() {
		if c.NumWaiting > 0 {
			return errors.New("a server reads the log; stop every server before the restore (kubectl scale deployment --replicas 0)")
		}
	}
	if err := consumers.Err(); err != nil {
		return fmt.Errorf("list the readers of the log: %w", err)
	}
	return nil
}

// restore creates the stream from its copy.
func (s Stream) restore(ctx context.Context, nc *natsconn.Conn, dir string, replicas int) error {
	var config map[string]json.RawMessage
	if err := json.Unmarshal(s.Config, &config); err != nil {
		return fmt.Errorf("read its settings: %w", err)
	}
	if replicas > 0 {
		config["num_replicas"] = json.RawMessage(strconv.Itoa(replicas))
	}
	f, err := os.Open(s.file(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	to, err := begin(ctx, nc, s.Name, map[string]any{"config": config, "state": s.State})
	if err != nil {
		return err
	}
	chunk := make([]byte, chunkBytes)
	for {
		n, err := f.Read(chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = send(ctx, nc, to, chunk[:n])
		}
		if err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, to, nil) // NATS answers when the stream exists
	if err != nil {
		return err
	}
	var created struct {
		State State `json:"state"`
	}
	if err := decode(m, &created); err != nil {
		return err
	}
	if created.State.LastSeq != s.State.LastSeq { // events may have expired, so the number of messages may differ
		return fmt.Errorf("the stream ends at message %d, but the backup at message %d", created.State.LastSeq, s.State.LastSeq)
	}
	return nil
}

// begin returns the subject to which NATS wants the chunks of a stream.
func begin(ctx context.Context, nc *natsconn.Conn, name string, request any) (to string, err error) {
	var answer struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	for range storageAttempts {
		err = ask(ctx, nc, "RESTORE."+name, request, &answer)
		if !isFull(err) {
			return answer.DeliverSubject, err
		}
		select {
		case <-time.After(storagePause):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", err
}

// isFull reports whether NATS found too little storage (nats-server 2.15, server/errors.json:
// JSClusterNoPeersErrF, JSInsufficientResourcesErr, JSStorageResourcesExceededErr).
func isFull(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains([]jetstream.ErrorCode{10005, 10023, 10047}, e.ErrorCode)
}

// send sends one chunk. NATS answers with an error, or with nothing.
func send(ctx context.Context, nc *natsconn.Conn, to string, chunk []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, to, chunk)
	if err != nil || len(m.Data) == 0 {
		return err
	}
	return decode(m, &struct{}{})
}
