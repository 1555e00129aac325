package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// Snapshots are objects of a JetStream object store, so that its tools can list
// and copy them.
const (
	snapshotBucket = "SNAPSHOTS"
	snapshotStream = "OBJ_" + snapshotBucket
	logHeader      = "Log"    // metadata: id of the log it is of
	seqHeader      = "Seq"    // metadata: sequence of the last entry in it
	entryHeader    = "Entry"  // metadata: SHA-256 of that entry, hexadecimal
	hashHeader     = "Sha256" // metadata: of its bytes, hexadecimal

	chunkSize     = 512 << 10
	storeTimeout  = 2 * time.Minute // for one snapshot to be stored, or read
	listTimeout   = 10 * time.Second
	keptSnapshots = 2 // the younger may turn out broken: the log reaches back to the older
)

// stored is a snapshot in the bucket.
type stored struct {
	name, nuid string // of the object
	hash       string
	entry      string // SHA-256 of the last entry in it, which shows that it is of this log and not of a lost end of it
	seq, size  uint64
}

// Keep stores a snapshot.
func (l *Log) Keep(ctx context.Context, s task.Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	entry, err := l.entryHash(ctx, s.Seq())
	if err == nil {
		err = l.store(ctx, s, entry)
	}
	if err == nil {
		l.growth.began(time.Now())
		return nil
	}
	all, sweep := l.snapshots(ctx, s.Log())
	if sweep == nil { // it may be for want of room
		sweep = l.sweep(ctx, all[:min(len(all), keptSnapshots)])
	}
	return errors.Join(fmt.Errorf("store a snapshot of the log: %w", err), sweep)
}

func (l *Log) store(ctx context.Context, s task.Snapshot, entry string) error {
	name := fmt.Sprintf("%020d-%s", s.Seq(), s.Hash())
	reader, writer := io.Pipe()
	go func() { _ = writer.CloseWithError(s.Encode(writer)) }()
	info, err := l.bucket.Put(ctx, jetstream.ObjectMeta{
		Name: name,
		Metadata: map[string]string{
			logHeader:   s.Log(),
			seqHeader:   fmt.Sprint(s.Seq()),
			entryHeader: entry,
			hashHeader:  s.Hash(),
		},
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize},
	}, chunks{reader})
	_ = reader.Close() // ends the encoder if the store gave up
	if err != nil {
		return err
	}
	l.growth.last.Store(int64(info.Size)) //nolint:gosec // no disk has 2^63 bytes
	// The log will be dropped because of it: it counts once it was read back.
	return l.load(ctx, stored{name: name, hash: s.Hash()}, func(r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
}

// chunks fills whole buffers, of each of which the object store makes a message.
type chunks struct{ io.Reader }

func (c chunks) Read(p []byte) (int, error) {
	n, err := io.ReadFull(c.Reader, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// entryHash names an entry of the log by its content.
func (l *Log) entryHash(ctx context.Context, seq uint64) (string, error) {
	entry, err := l.stream.GetMsg(ctx, seq)
	if err != nil {
		return "", fmt.Errorf("read entry %d of the log: %w", seq, err)
	}
	sum := sha256.Sum256(entry.Data)
	return hex.EncodeToString(sum[:]), nil
}

var (
	errBroken     = errors.New("the snapshot is broken")
	errUnreadable = errors.New("a newer release wrote the snapshot")
)

// load passes the bytes of a snapshot to read. The error wraps errBroken if
// they are not those that were stored, and errUnreadable if they are and read
// does not understand them.
func (l *Log) load(ctx context.Context, s stored, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	object, err := l.bucket.Get(ctx, s.name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	if err != nil {
		return fmt.Errorf("read snapshot %s: %w", s.name, err)
	}
	defer object.Close()
	sum := hashed{object, sha256.New()}
	understood := read(sum)
	_, err = io.Copy(io.Discard, sum)
	switch {
	case errors.Is(err, jetstream.ErrDigestMismatch), err == nil && hex.EncodeToString(sum.Sum(nil)) != s.hash:
		return fmt.Errorf("%w: %s does not hold what was stored", errBroken, s.name)
	case err != nil:
		return fmt.Errorf("read snapshot %s: %w", s.name, err)
	case understood != nil:
		return fmt.Errorf("%w: %s: %w", errUnreadable, s.name, understood)
	}
	return nil
}

// hashed hashes what is read through it.
type hashed struct {
	from io.Reader
	hash.Hash
}

func (h hashed) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	_, _ = h.Write(p[:n]) // a hash takes every byte
	return n, err
}

// snapshots returns the stored snapshots of a log, the youngest first.
func (l *Log) snapshots(ctx context.Context, log string) ([]stored, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout) // a consumer that is lost would never answer
	defer cancel()
	objects, err := l.bucket.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, fmt.Errorf("list the snapshots of the log: %w", err)
	}
	var all []stored
	for _, o := range objects {
		s := stored{name: o.Name, nuid: o.NUID, hash: o.Metadata[hashHeader], entry: o.Metadata[entryHeader], size: o.Size}
		if s.seq, err = strconv.ParseUint(o.Metadata[seqHeader], 10, 64); err == nil && o.Metadata[logHeader] == log {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(b.seq, a.seq) })
	return all, nil
}

// covering returns the snapshots from which the log can be read on, as it is.
func (l *Log) covering(ctx context.Context, log string, now jetstream.StreamState) ([]stored, error) {
	all, err := l.snapshots(ctx, log)
	if err != nil {
		return nil, err
	}
	covering := all[:0]
	for _, s := range all {
		if s.seq < now.FirstSeq || s.seq > now.LastSeq {
			continue
		}
		entry, err := l.entryHash(ctx, s.seq)
		if err != nil {
			return nil, err
		}
		if entry == s.entry {
			covering = append(covering, s)
		}
	}
	return covering, nil
}

// Drop removes what is not needed any more of a log: its snapshots but two, and
// the entries before the older of the two, of which the submissions go to the
// archive. What the snapshots of another log leave room for goes too. done is
// false if that has to be tried again, since events are missing that are made of
// what would go.
func (l *Log) Drop(ctx context.Context, log string, wanted task.Submissions) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	done, err = l.drop(ctx, log, wanted)
	if err != nil {
		err = fmt.Errorf("drop the log before its snapshots: %w", err)
	}
	return done, err
}

func (l *Log) drop(ctx context.Context, log string, wanted task.Submissions) (done bool, err error) {
	who, info, err := l.identify(ctx)
	if err != nil {
		return false, err
	}
	if who.id != log {
		return false, errReplaced
	}
	kept, err := l.covering(ctx, log, info.State)
	if err != nil {
		return false, err
	}
	kept = kept[:min(len(kept), keptSnapshots)]
	if len(kept) == keptSnapshots && l.told.Load() < kept[keptSnapshots-1].seq {
		return false, nil
	}
	if err := l.sweep(ctx, kept); err != nil || len(kept) < keptSnapshots {
		return err == nil, err
	}
	cut := kept[keptSnapshots-1].seq
	if err := l.moveOut(ctx, log, info.State.FirstSeq, cut-1, wanted); err != nil {
		return false, err
	}
	if err := l.secure(); err != nil {
		return false, err
	}
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(cut)); err != nil {
		return false, err
	}
	if _, err = l.info(ctx); err != nil { // the log has room again
		return false, err
	}
	return true, l.sweepArchive(ctx, log, wanted)
}

// sweep removes everything from the bucket that is not of these.
func (l *Log) sweep(ctx context.Context, kept []stored) error {
	stream, err := l.js.Stream(ctx, snapshotStream)
	if err != nil {
		return fmt.Errorf("look at the snapshots of the log: %w", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("$O."+snapshotBucket+".>"))
	if err != nil {
		return fmt.Errorf("look at the snapshots of the log: %w", err)
	}
	needed := map[string]bool{}
	for _, s := range kept { // as nats.go names them: ADR-20 of NATS
		needed["$O."+snapshotBucket+".M."+base64.URLEncoding.EncodeToString([]byte(s.name))] = true
		needed["$O."+snapshotBucket+".C."+s.nuid] = true
	}
	for subject := range info.State.Subjects {
		if needed[subject] {
			continue
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("remove an old snapshot of the log: %w", err)
		}
	}
	return nil
}

// openBucket finds or creates the place for snapshots.
func openBucket(ctx context.Context, js jetstream.JetStream, replicas int, limit int64) (jetstream.ObjectStore, error) {
	bucket, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket:      snapshotBucket,
		Description: "states of the log, from which a server starts",
		Storage:     jetstream.FileStorage,
		Replicas:    replicas,
		MaxBytes:    limit,
		Compression: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the snapshots of the log: %w", err)
	}
	return bucket, nil
}
