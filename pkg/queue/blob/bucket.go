package blob

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
)

// A Bucket is an object store that is read by what the leader of its stream answers.
// nats.go reads by direct gets, which any replica answers, and by consumers, which may be
// put on any replica: one that catches up lacks objects that are stored, and has
// objects that are removed.
type Bucket struct {
	store     jetstream.ObjectStore
	js        jetstream.JetStream
	name      string           // of the bucket
	transfers transfers        // nil: any number of chunks at once
	direct    jetstream.Stream // where chunks are asked for first; nil: of the leader alone
}

// OpenBucket finds or creates an object store. What exists keeps its settings,
// but for the limit of an embedded store.
func OpenBucket(ctx context.Context, js jetstream.JetStream, s streams.Settings, want jetstream.ObjectStoreConfig) (*Bucket, error) {
	want.Storage, want.Replicas = jetstream.FileStorage, max(s.Replicas, 1)
	b := &Bucket{js: js, name: want.Bucket}
	stream, err := js.Stream(ctx, b.stream())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		b.store, err = js.CreateObjectStore(ctx, want)
		return b, err
	case err != nil:
		return nil, err
	}
	has := stream.CachedInfo().Config
	if s.Dir != "" && has.MaxBytes != want.MaxBytes {
		has.MaxBytes = want.MaxBytes
		if _, err := js.UpdateStream(ctx, has); err != nil {
			return nil, err
		}
	}
	s.WarnDifferent(has, jetstream.StreamConfig{Replicas: want.Replicas, MaxBytes: want.MaxBytes})
	b.store, err = js.ObjectStore(ctx, want.Bucket)
	return b, err
}

// The subjects of an object are those of ADR-20 of NATS, as nats.go has them.
func (b *Bucket) stream() string { return "OBJ_" + b.name }

func (b *Bucket) metaPrefix() string { return "$O." + b.name + ".M." }

func (b *Bucket) metaSubject(object string) string {
	return b.metaPrefix() + base64.URLEncoding.EncodeToString([]byte(object))
}

func (b *Bucket) chunkSubject(nuid string) string { return "$O." + b.name + ".C." + nuid }

// Info returns what is stored of an object. The error is
// jetstream.ErrObjectNotFound only if the object is not there, and another one if
// that cannot be told: a leader that was deposed may lack what is stored.
func (b *Bucket) Info(ctx context.Context, object string) (*jetstream.ObjectInfo, error) {
	get := streams.GetRequest{Last: b.metaSubject(object)}
	answer, err := streams.Get(ctx, b.js, b.stream(), get)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		if err = b.confirm(ctx); err == nil {
			answer, err = streams.Get(ctx, b.js, b.stream(), get)
		}
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, jetstream.ErrObjectNotFound
	}
	if err != nil {
		return nil, err
	}
	return decodeObject(answer)
}

// confirm returns nil if no other leader of the stream can have been elected: all
// replicas are in touch with it, or it acknowledges a message.
func (b *Bucket) confirm(ctx context.Context) error {
	asked := time.Now()
	info, err := b.state(ctx, "")
	if err != nil {
		return err
	}
	if streams.IsCurrent(info, streams.ViewOf(info, asked), asked, time.Now()) {
		return nil
	}
	if !streams.HasLeader(info) {
		return streams.ErrUnconfirmed
	}
	barrier := nats.NewMsg(b.chunkSubject("barrier")) // a chunk of no object, of which the last one stays
	barrier.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if _, err = b.js.PublishMsg(ctx, barrier); err != nil {
		return fmt.Errorf("%w: %w", streams.ErrUnconfirmed, err)
	}
	return nil
}

func decodeObject(answer *streams.Message) (*jetstream.ObjectInfo, error) {
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return nil, fmt.Errorf("read the metadata of an object: %w", err)
	}
	if info.Deleted {
		return nil, jetstream.ErrObjectNotFound
	}
	return &info, nil
}

// state returns the state of the stream, with the number of messages of each
// subject that the filter matches.
func (b *Bucket) state(ctx context.Context, filter string) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, b.stream())
	switch {
	case err != nil:
		return nil, err
	case filter == "":
		return stream.CachedInfo(), nil
	}
	return stream.Info(ctx, jetstream.WithSubjectFilter(filter))
}

// List returns all objects, by what the leader of the stream has. It asks once for
// each object: it is for buckets that hold few.
func (b *Bucket) List(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	state, err := b.state(ctx, b.metaPrefix()+">")
	if err != nil {
		return nil, err
	}
	var all []*jetstream.ObjectInfo
	for subject := range state.State.Subjects {
		answer, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Last: subject})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		info, err := decodeObject(answer)
		if err == nil {
			all = append(all, info)
		} else if !errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil, err
		}
	}
	return all, nil
}

// Remove removes all that an object consists of: the object store itself would
// leave a message behind for each, for ever.
func (b *Bucket) Remove(ctx context.Context, info *jetstream.ObjectInfo) error {
	for _, subject := range []string{b.metaSubject(info.Name), b.chunkSubject(info.NUID)} {
		if err := b.purge(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) purge(ctx context.Context, subject string) error {
	return b.purgeThrough(ctx, subject, 0)
}

// purgeThrough removes the messages of a subject up to one of them; 0 means all.
func (b *Bucket) purgeThrough(ctx context.Context, subject string, seq uint64) error {
	stream, err := b.js.Stream(ctx, b.stream())
	if err != nil {
		return err
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if seq > 0 {
		options = append(options, jetstream.WithPurgeSequence(seq+1))
	}
	return stream.Purge(ctx, options...)
}

// RemoveBefore removes what was stored before all of these objects: older ones, and
// chunks of which the writer died. What was stored later stays.
func (b *Bucket) RemoveBefore(ctx context.Context, kept []*jetstream.ObjectInfo) error {
	first, err := b.firstMessage(ctx, kept)
	if err != nil {
		return err
	}
	state, err := b.state(ctx, "$O."+b.name+".>")
	if err != nil {
		return err
	}
	for subject := range state.State.Subjects {
		last, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Last: subject})
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && last.Seq >= first {
			continue
		}
		if err == nil {
			err = b.purgeThrough(ctx, subject, last.Seq)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// firstMessage returns the sequence of the first message of any of these objects.
func (b *Bucket) firstMessage(ctx context.Context, of []*jetstream.ObjectInfo) (uint64, error) {
	first := uint64(math.MaxUint64)
	for _, o := range of {
		chunk, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Seq: 1, Next: b.chunkSubject(o.NUID)})
		if err != nil {
			return 0, err
		}
		first = min(first, chunk.Seq)
	}
	return first, nil
}

// ListFromAny returns all objects, as any replica has them, by one question.
func (b *Bucket) ListFromAny(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	all, err := b.store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	return all, err
}

// Put stores an object in the place of another of its name.
func (b *Bucket) Put(ctx context.Context, about jetstream.ObjectMeta, content io.Reader) (*jetstream.ObjectInfo, error) {
	about.Opts = &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}
	return b.store.Put(ctx, about, chunkReader{content})
}
