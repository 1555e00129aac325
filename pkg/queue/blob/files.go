// Package blob stores what is too large for a message and may be slow: objects of
// JetStream object stores, uploads of users, and the last parts of logs.
package blob

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

const (
	chunkSize    = 512 << 10       // bytes of a message of an object
	storeTimeout = 2 * time.Minute // for a list of all objects, as any replica has it
	listTimeout  = 10 * time.Second
)

// maxTransfers bounds the chunks that are in flight on a connection for files. A
// chunk has at most chunkSize bytes, a third more on the wire: all of them stay far
// below the 64 MB at which a NATS server closes the connection of a slow client.
const maxTransfers = 16

// Files stores uploads and the logs of tasks whose pods are gone. Its connection is
// its own: the log and the events share no buffer with files.
type Files struct {
	js        jetstream.JetStream
	settings  streams.Settings
	transfers transfers
}

// NewFiles returns the files in streams of these settings. Nothing else may use nc.
func NewFiles(nc *natsconn.Conn, s streams.Settings) (*Files, error) {
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.RequestTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the files: %w", err)
	}
	return &Files{js: js, settings: s, transfers: make(transfers, maxTransfers)}, nil
}

// open finds or creates an object store whose chunks count as transfers.
func (f *Files) open(ctx context.Context, want jetstream.ObjectStoreConfig) (*Bucket, error) {
	bucket, err := OpenBucket(ctx, f.js, f.settings, want)
	if err != nil {
		return nil, err
	}
	bucket.transfers = f.transfers
	bucket.direct, err = f.js.Stream(ctx, bucket.stream())
	return bucket, err
}
