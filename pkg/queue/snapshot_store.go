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

// Snapshots are objects in an object store of JetStream, so that the tools of NATS can list
// and copy them.
const (
	logHeader   = "Log"    // metadata: id of the log of the snapshot
	seqHeader   = "Seq"    // metadata: sequence of the last entry in the snapshot
	entryHeader = "Entry"  // metadata: SHA-256 of that entry, hexadecimal
	hashHeader  = "Sha256" // metadata: SHA-256 of the bytes of the snapshot, hexadecimal

	listTimeout       = 10 * time.Second
	retainedSnapshots = 2 // if the younger is corrupt, the log continues from the older
)

// A storedSnapshot describes a snapshot in the bucket.
type storedSnapshot struct {
	object    *jetstream.ObjectInfo
	hash      string
	entry     string // SHA-256 of the last entry in the snapshot; tells this log from a lost end of it
	seq, size uint64
}

// A snapshotStore stores and lists the snapshots of the log, and knows when another one is
// due.
type snapshotStore struct {
	*logStream
	bucket         *blob.Bucket
	snapshotPolicy snapshotPolicy
	uncovered      atomic.Bool // entries were removed, and no snapshot covers them
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
	_ = reader.Close() // ends the encoder if Put returned early
	if err != nil {
		return err
	}
	k.snapshotPolicy.lastSize.Store(int64(info.Size)) //nolint:gosec // no disk has 2^63 bytes
	// Compaction relies on the snapshot, so the snapshot counts only after it was read back.
	err = k.loadSnapshot(ctx, snapshotOf(info), func(r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if errors.Is(err, errBroken) {
		err = errors.Join(err, k.bucket.Remove(ctx, info))
	}
	return err
}

// snapshotName begins with the position of the snapshot, in digits whose lexical order is the
// numerical order.
func snapshotName(seq uint64, hash string) string { return fmt.Sprintf("%020d-%s", seq, hash) }

// entryHash returns the SHA-256 of the entry at seq, hexadecimal.
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

// loadSnapshot passes the bytes of a snapshot to read. Each request to NATS has a timeout; the
// whole snapshot has none. The error wraps errBroken if the bytes
// do not match the hash, and errUnreadable if the bytes match and read cannot decode them.
func (k *snapshotStore) loadSnapshot(ctx context.Context, s storedSnapshot, read func(io.Reader) error) error {
	return readSnapshot(k.bucket.Reader(ctx, s.object), s, read)
}

func readSnapshot(from io.Reader, s storedSnapshot, read func(io.Reader) error) error {
	sum := &hashingReader{from: from, Hash: sha256.New()}
	understood := read(sum)
	_, err := io.Copy(io.Discard, sum)
	// A read that failed once may succeed the next time, but then the decoder has already given up.
	if err = cmp.Or(sum.failed, err); err != nil {
		return fmt.Errorf("read snapshot %s: %w", s.object.Name, err)
	}
	switch {
	case hex.EncodeToString(sum.Sum(nil)) != s.hash:
		return fmt.Errorf("%w: the content of %s does not match its hash", errBroken, s.object.Name)
	case understood != nil:
		return fmt.Errorf("%w: %s: %w", errUnreadable, s.object.Name, understood)
	}
	return nil
}

// A hashingReader hashes all bytes that are read through it, and keeps the first error.
type hashingReader struct {
	from io.Reader
	hash.Hash
	failed error
}

func (h *hashingReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	_, _ = h.Write(p[:n]) // a hash never returns an error
	if err != nil && !errors.Is(err, io.EOF) {
		h.failed = cmp.Or(h.failed, err)
	}
	return n, err
}

// listSnapshots returns the stored snapshots of a log, the youngest first. The list may be out
// of date: callers must not conclude that a snapshot does not exist because the list lacks it.
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

// snapshotOf decodes the metadata of a stored object; seq is 0 if the object is not a
// snapshot.
func snapshotOf(o *jetstream.ObjectInfo) storedSnapshot {
	seq, err := strconv.ParseUint(o.Metadata[seqHeader], 10, 64)
	if err != nil {
		seq = 0
	}
	return storedSnapshot{object: o, hash: o.Metadata[hashHeader], entry: o.Metadata[entryHeader], seq: seq, size: o.Size}
}

// usableSnapshots returns the snapshots after which the log, in the state now, can be read on.
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
