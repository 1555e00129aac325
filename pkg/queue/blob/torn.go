package blob

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// tornGrace is how long chunks without metadata stay. The writer of an object sends its metadata last,
// and may be slow, but sends a chunk more often than that.
const tornGrace = time.Hour

// A tornObject is the chunks of an object without metadata.
type tornObject struct {
	chunks uint64
	since  time.Time // when this process first saw this number of chunks
}

// RemoveTorn removes the chunks of objects whose writer ended before it stored the metadata: the
// chunks have had no metadata, and their number has not changed, in several calls over more than
// tornGrace. now is the time of the call.
func (b *Bucket) RemoveTorn(ctx context.Context, now time.Time) error {
	b.tornMu.Lock()
	defer b.tornMu.Unlock()
	state, err := b.state(ctx, b.chunkSubject(">"))
	if err != nil {
		return err
	}
	listed, err := b.ListFromAnyReplica(ctx)
	if err != nil {
		return err
	}
	whole := nuids(listed)
	torn, old := map[string]tornObject{}, map[string]bool{}
	for subject, chunks := range state.State.Subjects {
		nuid := strings.TrimPrefix(subject, b.chunkSubject(""))
		if whole[nuid] || nuid == barrierObject {
			continue
		}
		seen, met := b.torn[nuid]
		if !met || seen.chunks != chunks {
			seen = tornObject{chunks, now}
		}
		if torn[nuid] = seen; now.Sub(seen.since) > tornGrace {
			old[nuid] = true
		}
	}
	if b.torn = torn; len(old) == 0 {
		return nil
	}
	if err := b.confirm(ctx); err != nil {
		return err
	}
	stored, err := b.List(ctx) // a replica may lack objects that are stored
	if err != nil {
		return err
	}
	whole = nuids(stored)
	for _, nuid := range slices.Sorted(maps.Keys(old)) {
		if whole[nuid] {
			continue
		}
		if err := b.purge(ctx, b.chunkSubject(nuid)); err != nil {
			return err
		}
		delete(torn, nuid)
	}
	return nil
}

func nuids(of []*jetstream.ObjectInfo) map[string]bool {
	all := make(map[string]bool, len(of))
	for _, o := range of {
		all[o.NUID] = true
	}
	return all
}
