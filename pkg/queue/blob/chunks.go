package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

// errIncomplete means that the replica that answered lacks chunks of an object. Other replicas
// may have them.
var errIncomplete = errors.New("chunks of the object are missing")

// Reader returns a reader of the bytes of an object, which requests one chunk at a time. The
// reader does not verify the digest of the object.
func (b *Bucket) Reader(ctx context.Context, info *jetstream.ObjectInfo) io.Reader {
	return &objectReader{bucket: b, ctx: ctx, subject: b.chunkSubject(info.NUID), left: int(info.Chunks)} //nolint:gosec // no object has 2^63 chunks
}

// chunk returns the first chunk of an object at or after the sequence from, once a transfer
// slot is free. Chunks never change, so any replica may answer; a direct get takes half the
// time that the leader needs to encode its answer. Only the leader can say that a chunk does
// not exist.
func (b *Bucket) chunk(ctx context.Context, from uint64, subject string) (data []byte, seq uint64, err error) {
	done, err := b.transfers.acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if b.direct != nil {
		waiting, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
		m, err := b.direct.GetMsg(waiting, from, jetstream.WithGetMsgSubject(subject))
		cancel()
		if err == nil {
			return m.Data, m.Sequence, nil
		}
	}
	answer, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Seq: from, Next: subject})
	if err != nil {
		return nil, 0, err
	}
	return answer.Data, answer.Seq, nil
}

// Bytes returns the whole content of an object. The error is jetstream.ErrDigestMismatch if
// the content does not match its digest.
func (b *Bucket) Bytes(ctx context.Context, info *jetstream.ObjectInfo) ([]byte, error) {
	raw, err := io.ReadAll(b.Reader(ctx, info))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	if info.Digest != digest(sum[:]) {
		return nil, jetstream.ErrDigestMismatch
	}
	return raw, nil
}

type objectReader struct {
	bucket  *Bucket
	ctx     context.Context //nolint:containedctx // as long as the object is read
	subject string
	left    int // number of chunks not read yet
	next    uint64
	chunk   []byte
}

func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		data, seq, err := r.bucket.chunk(r.ctx, max(r.next, 1), r.subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, errIncomplete
		}
		if err != nil {
			return 0, err
		}
		r.chunk, r.next, r.left = data, seq+1, r.left-1
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

// Put stores an object and replaces an object of the same name. Put sends one chunk at a time
// and waits ackTimeout for each acknowledgement, so that an object of any size is stored as
// long as NATS accepts chunks, and a lost acknowledgement fails soon. (The object store of
// nats.go sends all chunks at once and waits for a lost acknowledgement until ctx ends.) If Put
// fails, it removes the chunks again, unless NATS cannot be reached or may have stored the
// object.
func (b *Bucket) Put(ctx context.Context, about jetstream.ObjectMeta, content io.Reader) (*jetstream.ObjectInfo, error) {
	former, err := b.former(ctx, about.Name)
	if err != nil {
		return nil, err
	}
	info := b.newObject(about)
	sent := false
	if err = b.sendChunks(ctx, info, content); err == nil {
		err, sent = b.sendInfo(ctx, info), true
	}
	if err != nil {
		if _, rejected := errors.AsType[*jetstream.APIError](err); !sent || rejected {
			_ = b.purge(context.WithoutCancel(ctx), b.chunkSubject(info.NUID))
		}
		return nil, err
	}
	if former != nil {
		_ = b.purge(ctx, b.chunkSubject(former.NUID)) // chunks that stay waste space, and do no other harm
	}
	return info, nil
}

// former returns the metadata of the object that an object of the same name replaces; nil if
// the leader of the stream has no such object.
func (b *Bucket) former(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	answer, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Last: b.metaSubject(name)})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	former, err := decodeObject(answer)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	return former, err
}

func (b *Bucket) newObject(about jetstream.ObjectMeta) *jetstream.ObjectInfo {
	about.Opts = &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}
	return &jetstream.ObjectInfo{ObjectMeta: about, Bucket: b.name, NUID: rand.Text()}
}

// sendChunks sends the content as chunks and sets the size and the digest of the object. The buffer of
// a chunk grows as bytes arrive.
func (b *Bucket) sendChunks(ctx context.Context, info *jetstream.ObjectInfo, content io.Reader) error {
	sum := sha256.New()
	var chunk bytes.Buffer
	for {
		chunk.Reset()
		n, err := io.CopyN(&chunk, content, chunkSize)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return err
		}
		if n > 0 {
			if err := b.sendChunk(ctx, info, chunk.Bytes()); err != nil {
				return err
			}
			_, _ = sum.Write(chunk.Bytes()) // a hash never returns an error
		}
		if last {
			info.Digest = digest(sum.Sum(nil))
			return nil
		}
	}
}

func digest(sum []byte) string { return "SHA-256=" + base64.URLEncoding.EncodeToString(sum) }

func (b *Bucket) sendChunk(ctx context.Context, info *jetstream.ObjectInfo, chunk []byte) error {
	done, err := b.transfers.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, b.ackTimeout)
	defer cancel()
	info.Size += uint64(len(chunk))
	info.Chunks++
	_, err = b.js.Publish(ctx, b.chunkSubject(info.NUID), chunk)
	return err
}

func (b *Bucket) sendInfo(ctx context.Context, info *jetstream.ObjectInfo) error {
	ctx, cancel := context.WithTimeout(ctx, b.ackTimeout)
	defer cancel()
	meta := nats.NewMsg(b.metaSubject(info.Name))
	meta.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	var err error
	if meta.Data, err = json.Marshal(info); err == nil {
		_, err = b.js.PublishMsg(ctx, meta)
	}
	return err
}
