// Package blob stores data that is too large for a message. The data is not urgent: objects in
// object stores of JetStream, uploads of users, and archived logs.
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
	chunkSize    = 512 << 10       // bytes of one message of an object
	storeTimeout = 2 * time.Minute // for a list of all objects from any replica
	listTimeout  = 10 * time.Second
	ackTimeout   = 10 * time.Second // for the acknowledgement of one message of an object
)

// maxTransfers bounds the chunks in flight on the connection for files. A chunk has at most
// chunkSize bytes, and a third more on the wire. All chunks in flight therefore stay far below
// the 64 MB at which a NATS server closes the connection of a slow client.
const maxTransfers = 16

// Files stores uploads and archived logs. Files has a connection of its own, so that the log
// and the events share no buffer with files.
type Files struct {
	js        jetstream.JetStream
	settings  streams.Settings
	transfers transfers
}

// NewFiles returns Files whose streams have the settings s. Nothing else may use nc.
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

// open finds or creates an object store whose chunks count as transfers of f.
func (f *Files) open(ctx context.Context, want jetstream.ObjectStoreConfig) (*Bucket, error) {
	bucket, err := OpenBucket(ctx, f.js, f.settings, want)
	if err != nil {
		return nil, err
	}
	bucket.transfers = f.transfers
	bucket.direct, err = f.js.Stream(ctx, bucket.stream())
	return bucket, err
}
