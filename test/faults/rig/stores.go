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

// Stores records the number of replicas of each stream, and the snapshots.
func (r *Rig) Stores(ctx context.Context) error {
	js, disconnect, err := r.JetStream()
	if err != nil {
		return err
	}
	defer disconnect()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	streams := js.ListStreams(ctx)
	for info := range streams.Info() {
		r.Recorder.Stream(history.Stream{Name: info.Config.Name, Replicas: info.Config.Replicas})
	}
	if err := streams.Err(); err != nil {
		return fmt.Errorf("list the streams: %w", err)
	}
	_, err = r.snapshots(ctx, js)
	return err
}

// Snapshots records and returns the current snapshots.
func (r *Rig) Snapshots(ctx context.Context) (history.Snapshots, error) {
	js, disconnect, err := r.JetStream()
	if err != nil {
		return history.Snapshots{}, err
	}
	defer disconnect()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.snapshots(ctx, js)
}

// snapshots asks the leaders of both streams, first the leader of the log: a snapshot that
// covers a later beginning of the log also covers an earlier one.
func (r *Rig) snapshots(ctx context.Context, js jetstream.JetStream) (history.Snapshots, error) {
	log, err := js.Stream(ctx, logStream)
	if err != nil {
		return history.Snapshots{}, fmt.Errorf("look at the log: %w", err)
	}
	state := log.CachedInfo().State
	found := history.Snapshots{First: state.FirstSeq, Last: state.LastSeq}
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
