package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
)

// ErrConflict says that another pod has stored the document since this pod loaded it.
var ErrConflict = errors.New("another pod stored the checkpoint; load it again")

const maxCheckpoints = 16 << 20 // of the stream; NATS limits a document to 1 MB

// A CheckpointConfig names a document.
type CheckpointConfig struct {
	Settings

	Stream, Subject string
	Description     string
	Embedded        bool // this process stores the stream
}

// A Checkpoint is a small document of the leader in NATS. A former leader cannot overwrite the
// document of the present leader. Only one goroutine may use a Checkpoint.
type Checkpoint struct {
	js     jetstream.JetStream
	config CheckpointConfig
	last   uint64 // sequence of the message with the document
}

// NewCheckpoint returns the document that c names. NewCheckpoint creates nothing in NATS; Load does.
func NewCheckpoint(nc *natsconn.Conn, c CheckpointConfig) (*Checkpoint, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.RequestTimeout))
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", c.Stream, err)
	}
	return &Checkpoint{js: js, config: c}, nil
}

// Load returns the document or nil. Load asks the leader of the stream: after a partition, a
// document may be older than the last one, and Store then fails.
func (c *Checkpoint) Load(ctx context.Context) ([]byte, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	c.last = 0
	m, err := Get(ctx, c.js, c.config.Stream, GetRequest{Last: c.config.Subject})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the checkpoint of stream %s: %w", c.config.Stream, err)
	}
	c.last = m.Seq
	return m.Data, nil
}

// Store replaces the document that Load returned or Store stored last. The error is ErrConflict
// if another pod has replaced it.
func (c *Checkpoint) Store(ctx context.Context, document []byte) error {
	m := &nats.Msg{Subject: c.config.Subject, Data: document, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(c.last, 10)},
	}}
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	ack, err := c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return ErrConflict
	}
	if err != nil {
		return fmt.Errorf("store the checkpoint in stream %s: %w", c.config.Stream, err)
	}
	c.last = ack.Sequence
	return nil
}

// open finds or creates the stream.
func (c *Checkpoint) open(ctx context.Context) error {
	want := jetstream.StreamConfig{
		Name: c.config.Stream, Description: c.config.Description, Subjects: []string{c.config.Subject},
		Storage: jetstream.FileStorage, Replicas: max(c.config.Replicas, 1), MaxMsgsPerSubject: 1, MaxBytes: maxCheckpoints,
		Duplicates: time.Second,
	}
	if c.config.Embedded {
		want.PersistMode = jetstream.AsyncPersistMode // an older document suffices after a crash
	}
	stream, err := c.js.Stream(ctx, c.config.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = Create(ctx, c.js, want)
	}
	if err != nil {
		return fmt.Errorf("open stream %s: %w", c.config.Stream, err)
	}
	c.config.WarnDifferent(stream.CachedInfo().Config, want)
	return nil
}
