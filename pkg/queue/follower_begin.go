package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Where a follower begins, and whether it may go on.

// recognise compares the log with the one read so far.
func (f *follower) recognise(ctx context.Context, who identity, now jetstream.StreamState) error {
	f.mu.Lock()
	known, first := f.known, f.first
	same := f.identity == who && now.LastSeq >= f.folded && now.FirstSeq <= f.folded+1
	f.mu.Unlock()
	if !known {
		return nil
	}
	if !same {
		return errReplaced
	}
	return f.begins(ctx, who.id, first, now)
}

// begins accepts another first entry of the log if a snapshot holds what was cut
// off: that was the leader. Else a pod that starts now has nothing but the rest,
// and all have to agree with it.
func (f *follower) begins(ctx context.Context, log string, first uint64, now jetstream.StreamState) error {
	if now.FirstSeq == first {
		return nil
	}
	covering, err := f.log.covering(ctx, log, now)
	if err != nil {
		return err
	}
	if len(covering) == 0 {
		return errReplaced
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = now.FirstSeq
	return nil
}

// begin starts from the youngest snapshot of the log, or from the log's first
// entry if there is none.
func (f *follower) begin(ctx context.Context, who identity, now jetstream.StreamState, folder Folder) error {
	at, err := f.restore(ctx, who, now, folder)
	if err != nil {
		return err
	}
	if at > 0 {
		f.log.writer.resume(folder)
	} else {
		if now.FirstSeq > 1 {
			f.log.config.Logger.Error("the log lacks its first entries and has no snapshot of them: what only they told is lost; objects of the cluster are adopted", "first", now.FirstSeq)
		}
		if f.hasBegun() {
			f.log.writer.renew()
			folder.Reset()
		}
		f.log.growth.last.Store(0)
		at = now.FirstSeq - 1
	}
	f.log.growth.began(time.Now())
	f.mu.Lock()
	f.identity, f.known, f.first, f.folded, f.goal = who, true, now.FirstSeq, at, now.LastSeq
	f.mu.Unlock()
	f.log.ends.stored(now.LastSeq)
	f.changed.notify()
	return nil
}

// restore returns the sequence of the last entry in the snapshot that it gave
// to folder, 0 if there is none.
func (f *follower) restore(ctx context.Context, who identity, now jetstream.StreamState, folder Folder) (uint64, error) {
	all, err := f.log.covering(ctx, who.id, now)
	if err != nil {
		return 0, err
	}
	var failed error
	for _, s := range all {
		began := time.Now()
		err := f.log.load(ctx, s, folder.Restore)
		switch {
		case err == nil:
			f.log.growth.last.Store(int64(s.size)) //nolint:gosec // no disk has 2^63 bytes
			f.log.config.Logger.Info("started from a snapshot", "entry", s.seq, "hash", s.hash, "bytes", s.size, "took", time.Since(began).Round(time.Millisecond).String())
			return s.seq, nil
		case errors.Is(err, errUnreadable):
			return 0, err
		case !errors.Is(err, errBroken):
			failed = err
		}
		folder.Reset() // it may have understood what was not stored
		f.log.config.Logger.Error("cannot start from a snapshot, trying what is older", "err", err)
	}
	if now.FirstSeq == 1 {
		return 0, nil // the log has it all
	}
	return 0, failed
}
