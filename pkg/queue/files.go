package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
)

// maxTransfers bounds the chunks that are in flight on a connection for files. A
// chunk has at most chunkSize bytes, a third more on the wire: all of them stay far
// below the 64 MB at which a NATS server closes the connection of a slow client.
const maxTransfers = 16

// Files stores uploads and the logs of tasks whose pods are gone. Its connection is
// its own: the log and the events share no buffer with files.
type Files struct {
	js        jetstream.JetStream
	config    Config
	transfers transfers
}

// OpenFiles returns the files beside a log. Nothing else may use nc.
func (l *Log) OpenFiles(nc *natsconn.Conn) (*Files, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.RequestTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the files: %w", err)
	}
	return &Files{js: js, config: l.config, transfers: make(transfers, maxTransfers)}, nil
}

// open finds or creates an object store whose chunks count as transfers.
func (f *Files) open(ctx context.Context, want jetstream.ObjectStoreConfig) (*objects, error) {
	bucket, err := openObjects(ctx, f.js, f.config, want)
	if err != nil {
		return nil, err
	}
	bucket.transfers = f.transfers
	bucket.direct, err = f.js.Stream(ctx, bucket.stream())
	return bucket, err
}

// transfers holds one element for each chunk in flight. The nil transfers has no
// bound.
type transfers chan struct{}

// acquire waits until a chunk may be sent or asked for; done ends that.
func (t transfers) acquire(ctx context.Context) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// putChunk stores an object of one chunk, under a name that no object has. If that
// fails, nothing of the object stays, as far as NATS can be reached.
func (o *objects) putChunk(ctx context.Context, name string, content []byte) error {
	done, err := o.transfers.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	sum := sha256.Sum256(content)
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     o.name,
		NUID:       rand.Text(),
		Size:       uint64(len(content)),
		Chunks:     1,
		Digest:     "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
	}
	if err = o.publish(ctx, info, content); err != nil {
		_ = o.purge(context.WithoutCancel(ctx), o.chunkSubject(info.NUID))
	}
	return err
}

func (o *objects) publish(ctx context.Context, info jetstream.ObjectInfo, content []byte) error {
	meta := nats.NewMsg(o.metaSubject(info.Name))
	meta.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	var err error
	if meta.Data, err = json.Marshal(info); err != nil {
		return err
	}
	if _, err = o.js.Publish(ctx, o.chunkSubject(info.NUID), content); err == nil {
		_, err = o.js.PublishMsg(ctx, meta)
	}
	return err
}
