package blob

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
)

// A Bucket is an object store that reads metadata from the leader of its stream, except in
// ListFromAnyReplica. The object store of nats.go reads by direct gets, which any replica
// answers, and by consumers, which NATS may place on any replica. A replica that catches up
// may lack stored objects and contain removed ones.
type Bucket struct {
	store      jetstream.ObjectStore
	js         jetstream.JetStream
	name       string           // of the bucket
	transfers  transfers        // nil: no bound on the chunks in flight
	direct     jetstream.Stream // chunks are requested here first; nil: from the leader only
	ackTimeout time.Duration    // for the acknowledgement of one message

	tornMu sync.Mutex
	torn   map[string]tornObject // by NUID, of the last call of RemoveTorn
}

// OpenBucket finds or creates an object store. An existing object store keeps its settings,
// except for the size limit of an embedded store.
func OpenBucket(ctx context.Context, js jetstream.JetStream, s streams.Settings, want jetstream.ObjectStoreConfig) (*Bucket, error) {
	want.Storage, want.Replicas = jetstream.FileStorage, max(s.Replicas, 1)
	b := &Bucket{js: js, name: want.Bucket, ackTimeout: ackTimeout}
	stream, err := js.Stream(ctx, b.stream())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		b.store, err = streams.CreateObjectStore(ctx, js, want)
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

// The subjects of an object are the subjects of ADR-20 of NATS, as in nats.go.
func (b *Bucket) stream() string { return "OBJ_" + b.name }

func (b *Bucket) metaPrefix() string { return "$O." + b.name + ".M." }

func (b *Bucket) metaSubject(object string) string {
	return b.metaPrefix() + base64.URLEncoding.EncodeToString([]byte(object))
}

func (b *Bucket) chunkSubject(nuid string) string { return "$O." + b.name + ".C." + nuid }

// Info returns the metadata of an object. The error is jetstream.ErrObjectNotFound only if the
// object certainly does not exist. If its absence is not confirmed, the error is another one:
// a deposed leader may lack objects that are stored.
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

// barrierObject is the NUID of chunks that belong to no object.
const barrierObject = "barrier"

// confirm returns nil if NATS cannot have elected another leader of the stream: the leader is
// in contact with all replicas, or it acknowledges a message.
func (b *Bucket) confirm(ctx context.Context) error {
	asked := time.Now()
	info, err := b.state(ctx, "")
	if err != nil {
		return err
	}
	if streams.IsCurrent(info, streams.LeaderStateOf(info, asked), asked, time.Now()) {
		return nil
	}
	if !streams.HasLeader(info) {
		return streams.ErrUnconfirmed
	}
	barrier := nats.NewMsg(b.chunkSubject(barrierObject)) // the rollup retains only the last one
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

// state returns the state of the stream, with the number of messages on each subject that
// filter matches; without a filter, the state has no numbers.
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

// List returns all objects that the leader of the stream has. List sends one request for each
// object; use it only for buckets with few objects.
func (b *Bucket) List(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	state, err := b.state(ctx, b.metaPrefix()+">")
	if err != nil {
		return nil, err
	}
	var all []*jetstream.ObjectInfo
	for subject := range state.State.Subjects {
		answer, err := streams.Get(ctx, b.js, b.stream(), streams.GetRequest{Last: subject})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // removed after the state was read
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

// Remove removes all messages of an object. The object store of nats.go would leave one
// message behind for each removed object.
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

// purgeThrough removes the messages of a subject up to the sequence seq; 0 means all messages.
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

// RemoveBefore removes everything that was stored before all kept objects: older objects, and
// chunks whose writer crashed. Objects that were stored later stay.
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

// firstMessage returns the lowest sequence of all chunks of these objects.
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

// ListFromAnyReplica returns all objects with one request. Any replica may answer, so the
// list may be out of date.
func (b *Bucket) ListFromAnyReplica(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	all, err := b.store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	return all, err
}
