package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/task"
)

// Snapshots are objects of a JetStream object store, so that its tools can list
// and copy them.
const (
	snapshotBucket = "SNAPSHOTS"
	logHeader      = "Log"    // metadata: id of the log it is of
	seqHeader      = "Seq"    // metadata: sequence of the last entry in it
	entryHeader    = "Entry"  // metadata: SHA-256 of that entry, hexadecimal
	hashHeader     = "Sha256" // metadata: of its bytes, hexadecimal

	storeTimeout      = 2 * time.Minute // for one snapshot to be stored, or read
	listTimeout       = 10 * time.Second
	retainedSnapshots = 2 // the younger may turn out broken: the log reaches back to the older
)

// storedSnapshot is a snapshot in the bucket.
type storedSnapshot struct {
	object    *jetstream.ObjectInfo
	hash      string
	entry     string // SHA-256 of the last entry in it, which shows that it is of this log and not of a lost end of it
	seq, size uint64
}

// A snapshotStore keeps snapshots of the log, and knows when another one is due.
type snapshotStore struct {
	*logStream
	bucket         *blob.Bucket
	snapshotPolicy snapshotPolicy
	uncovered      atomic.Bool // the log was cut, and no snapshot of the state before the cut is known
}

func (k *snapshotStore) putSnapshot(ctx context.Context, s task.Snapshot, entry string) error {
	name := snapshotName(s.Seq(), s.Hash())
	reader, writer := io.Pipe()
	go func() { _ = writer.CloseWithError(s.Encode(writer)) }()
	info, err := k.bucket.Put(ctx, jetstream.ObjectMeta{
		Name: name,
		Metadata: map[string]string{
			logHeader:   s.Log(),
			seqHeader:   fmt.Sprint(s.Seq()),
			entryHeader: entry,
			hashHeader:  s.Hash(),
		},
	}, reader)
	_ = reader.Close() // ends the encoder if the store gave up
	if err != nil {
		return err
	}
	k.snapshotPolicy.lastSize.Store(int64(info.Size)) //nolint:gosec // no disk has 2^63 bytes
	// The log will be cut because of it: it counts once it was read back.
	err = k.loadSnapshot(ctx, snapshotOf(info), func(r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if errors.Is(err, errBroken) {
		err = errors.Join(err, k.bucket.Remove(ctx, info))
	}
	return err
}

// snapshotName begins with the position of the snapshot, in digits that sort as
// numbers do.
func snapshotName(seq uint64, hash string) string { return fmt.Sprintf("%020d-%s", seq, hash) }

// entryHash names an entry of the log by its content.
func (k *snapshotStore) entryHash(ctx context.Context, seq uint64) (string, error) {
	entry, err := k.stream.GetMsg(ctx, seq)
	if err != nil {
		return "", fmt.Errorf("read entry %d of the log: %w", seq, err)
	}
	sum := sha256.Sum256(entry.Data)
	return hex.EncodeToString(sum[:]), nil
}

var (
	errBroken     = errors.New("the snapshot is corrupt")
	errUnreadable = errors.New("a newer release wrote the snapshot")
)

// loadSnapshot passes the bytes of a snapshot to read. The error wraps errBroken if
// they are not those that were stored, and errUnreadable if they are and read
// does not understand them.
func (k *snapshotStore) loadSnapshot(ctx context.Context, s storedSnapshot, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	sum := hashingReader{k.bucket.Reader(ctx, s.object), sha256.New()}
	understood := read(sum)
	_, err := io.Copy(io.Discard, sum)
	switch {
	case err == nil && hex.EncodeToString(sum.Sum(nil)) != s.hash:
		return fmt.Errorf("%w: the content of %s does not match its hash", errBroken, s.object.Name)
	case err != nil:
		return fmt.Errorf("read snapshot %s: %w", s.object.Name, err)
	case understood != nil:
		return fmt.Errorf("%w: %s: %w", errUnreadable, s.object.Name, understood)
	}
	return nil
}

// hashingReader hashes what is read through it.
type hashingReader struct {
	from io.Reader
	hash.Hash
}

func (h hashingReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	_, _ = h.Write(p[:n]) // a hash takes every byte
	return n, err
}

// listSnapshots returns the stored snapshots of a log, the youngest first. The list
// may be that of some time ago: no caller may take a snapshot that the list lacks
// for one that does not exist.
func (k *snapshotStore) listSnapshots(ctx context.Context, log string) ([]storedSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	objects, err := k.bucket.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of the log: %w", err)
	}
	var all []storedSnapshot
	for _, o := range objects {
		if s := snapshotOf(o); s.seq > 0 && o.Metadata[logHeader] == log {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b storedSnapshot) int { return cmp.Compare(b.seq, a.seq) })
	return all, nil
}

// snapshotOf reads what is stored with a snapshot; seq is 0 if that is of no
// snapshot.
func snapshotOf(o *jetstream.ObjectInfo) storedSnapshot {
	seq, err := strconv.ParseUint(o.Metadata[seqHeader], 10, 64)
	if err != nil {
		seq = 0
	}
	return storedSnapshot{object: o, hash: o.Metadata[hashHeader], entry: o.Metadata[entryHeader], seq: seq, size: o.Size}
}

// usableSnapshots returns the snapshots from which the log can be read on, as it is.
func (k *snapshotStore) usableSnapshots(ctx context.Context, log string, now jetstream.StreamState) ([]storedSnapshot, error) {
	all, err := k.listSnapshots(ctx, log)
	if err != nil {
		return nil, err
	}
	usable := all[:0]
	for _, s := range all {
		if s.seq < now.FirstSeq || s.seq > now.LastSeq {
			continue
		}
		entry, err := k.entryHash(ctx, s.seq)
		if err != nil {
			return nil, err
		}
		if entry == s.entry {
			usable = append(usable, s)
		}
	}
	return usable, nil
}
