package queue

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
)

// An object store is read here by what the leader of its stream answers. nats.go
// reads by direct gets, which any replica answers, and by consumers, which may be
// put on any replica: one that catches up lacks objects that are stored, and has
// objects that are removed.
type objects struct {
	jetstream.ObjectStore
	js        jetstream.JetStream
	name      string           // of the bucket
	transfers transfers        // nil: any number of chunks at once
	direct    jetstream.Stream // where chunks are asked for first; nil: of the leader alone
}

// The subjects of an object are those of ADR-20 of NATS, as nats.go has them.
func (o *objects) stream() string { return "OBJ_" + o.name }

func (o *objects) metaPrefix() string { return "$O." + o.name + ".M." }

func (o *objects) metaSubject(object string) string {
	return o.metaPrefix() + base64.URLEncoding.EncodeToString([]byte(object))
}

func (o *objects) chunkSubject(nuid string) string { return "$O." + o.name + ".C." + nuid }

// A getRequest is a request to STREAM.MSG.GET, which only the leader answers.
type getRequest struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"` // the first at or behind Seq
}

type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// get returns the answer of the stream's leader. The error is
// jetstream.ErrMsgNotFound if the leader has no such message.
func getFromLeader(ctx context.Context, js jetstream.JetStream, stream string, r getRequest) (*getResponse, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	m, err := js.Conn().RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+stream, raw)
	if err != nil {
		return nil, err
	}
	var answer getResponse
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("read a response of NATS: %w", err)
	}
	switch e := answer.Error; {
	case e == nil:
		return &answer, nil
	case e.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	default:
		return nil, e
	}
}

// info returns what is stored of an object. The error is
// jetstream.ErrObjectNotFound only if the object is not there, and another one if
// that cannot be told: a leader that was deposed may lack what is stored.
func (o *objects) info(ctx context.Context, object string) (*jetstream.ObjectInfo, error) {
	get := getRequest{Last: o.metaSubject(object)}
	answer, err := getFromLeader(ctx, o.js, o.stream(), get)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		if err = o.confirm(ctx); err == nil {
			answer, err = getFromLeader(ctx, o.js, o.stream(), get)
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
func (o *objects) confirm(ctx context.Context) error {
	asked := time.Now()
	info, err := o.state(ctx, "")
	if err != nil {
		return err
	}
	if isCurrent(info, viewOf(info, asked), asked, time.Now()) {
		return nil
	}
	if !hasLeader(info) {
		return errUnconfirmed
	}
	barrier := nats.NewMsg(o.chunkSubject("barrier")) // a chunk of no object, of which the last one stays
	barrier.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if _, err = o.js.PublishMsg(ctx, barrier); err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	return nil
}

func decodeObject(answer *getResponse) (*jetstream.ObjectInfo, error) {
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(answer.Message.Data, &info); err != nil {
		return nil, fmt.Errorf("read the metadata of an object: %w", err)
	}
	if info.Deleted {
		return nil, jetstream.ErrObjectNotFound
	}
	return &info, nil
}

// state returns the state of the stream, with the number of messages of each
// subject that the filter matches.
func (o *objects) state(ctx context.Context, filter string) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	stream, err := o.js.Stream(ctx, o.stream())
	switch {
	case err != nil:
		return nil, err
	case filter == "":
		return stream.CachedInfo(), nil
	}
	return stream.Info(ctx, jetstream.WithSubjectFilter(filter))
}

// list returns all objects, by what the leader of the stream has. It asks once for
// each object: it is for buckets that hold few.
func (o *objects) list(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	state, err := o.state(ctx, o.metaPrefix()+">")
	if err != nil {
		return nil, err
	}
	var all []*jetstream.ObjectInfo
	for subject := range state.State.Subjects {
		answer, err := getFromLeader(ctx, o.js, o.stream(), getRequest{Last: subject})
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

// errIncomplete means that chunks of an object are missing, which may be stored on
// other replicas.
var errIncomplete = errors.New("chunks of the object are missing")

// open returns a reader of an object's bytes, chunk by chunk. Whether the bytes are
// those that were stored is for the caller to check.
func (o *objects) open(ctx context.Context, info *jetstream.ObjectInfo) io.Reader {
	return &objectReader{objects: o, ctx: ctx, subject: o.chunkSubject(info.NUID), left: int(info.Chunks)} //nolint:gosec // no object has 2^63 chunks
}

// chunk returns the first chunk of an object at or behind a sequence, when its turn
// has come. No chunk ever changes, so that any replica that has it may answer, in half
// the time that the leader takes to encode it; only the leader says what is not there.
func (o *objects) chunk(ctx context.Context, from uint64, subject string) (data []byte, seq uint64, err error) {
	done, err := o.transfers.acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if o.direct != nil {
		waiting, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
		m, err := o.direct.GetMsg(waiting, from, jetstream.WithGetMsgSubject(subject))
		cancel()
		if err == nil {
			return m.Data, m.Sequence, nil
		}
	}
	answer, err := getFromLeader(ctx, o.js, o.stream(), getRequest{Seq: from, Next: subject})
	if err != nil {
		return nil, 0, err
	}
	return answer.Message.Data, answer.Message.Seq, nil
}

// bytes returns all of an object. The error is jetstream.ErrDigestMismatch if they
// are not those that were stored.
func (o *objects) bytes(ctx context.Context, info *jetstream.ObjectInfo) ([]byte, error) {
	raw, err := io.ReadAll(o.open(ctx, info))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	if info.Digest != "SHA-256="+base64.URLEncoding.EncodeToString(sum[:]) {
		return nil, jetstream.ErrDigestMismatch
	}
	return raw, nil
}

type objectReader struct {
	objects *objects
	ctx     context.Context //nolint:containedctx // as long as the object is read
	subject string
	left    int // chunks
	next    uint64
	chunk   []byte
}

func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		data, seq, err := r.objects.chunk(r.ctx, max(r.next, 1), r.subject)
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

// remove removes all that an object consists of: the object store itself would
// leave a message behind for each, for ever.
func (o *objects) remove(ctx context.Context, info *jetstream.ObjectInfo) error {
	for _, subject := range []string{o.metaSubject(info.Name), o.chunkSubject(info.NUID)} {
		if err := o.purge(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

func (o *objects) purge(ctx context.Context, subject string) error {
	return o.purgeThrough(ctx, subject, 0)
}

// purgeThrough removes the messages of a subject up to one of them; 0 means all.
func (o *objects) purgeThrough(ctx context.Context, subject string, seq uint64) error {
	stream, err := o.js.Stream(ctx, o.stream())
	if err != nil {
		return err
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if seq > 0 {
		options = append(options, jetstream.WithPurgeSequence(seq+1))
	}
	return stream.Purge(ctx, options...)
}
