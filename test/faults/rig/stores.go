package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/faults/history"
)

// The stream and the subjects of the object store of snapshots, according to ADR-20 of NATS.
const (
	snapshotStream = "OBJ_SNAPSHOTS"
	snapshotNames  = "$O.SNAPSHOTS.M."
)

// Snapshots records and returns the current snapshots. Snapshots asks the leaders of both
// streams, first the leader of the log: a snapshot that covers a later beginning of the log
// also covers an earlier one.
func (r *Rig) Snapshots(ctx context.Context, limit time.Duration) (found history.Snapshots, err error) {
	js, disconnect, err := r.JetStream()
	if err != nil {
		return found, err
	}
	defer disconnect()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	log, err := js.Stream(ctx, logStream)
	if err != nil {
		return found, fmt.Errorf("look at the log: %w", err)
	}
	state := log.CachedInfo().State
	found.First, found.Last = state.FirstSeq, state.LastSeq
	bucket, err := js.Stream(ctx, snapshotStream)
	if err != nil {
		return found, fmt.Errorf("look at the snapshots: %w", err)
	}
	info, err := bucket.Info(ctx, jetstream.WithSubjectFilter(snapshotNames+">"))
	if err != nil {
		return found, fmt.Errorf("look at the snapshots: %w", err)
	}
	for subject := range info.State.Subjects {
		name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, snapshotNames))
		if err != nil {
			continue // not a snapshot
		}
		number, _, _ := strings.Cut(string(name), "-")
		if seq, err := strconv.ParseUint(number, 10, 64); err == nil {
			found.Seqs = append(found.Seqs, seq)
		}
	}
	found.At = r.Recorder.Now()
	r.Recorder.Snapshots(found)
	return found, nil
}
