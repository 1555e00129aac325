package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// republish makes the events again that this pod does not remember, since it began
// behind them or too many came since, and publishes them.
func (t *publisher) republish(ctx context.Context) error {
	began := time.Now()
	replayer := t.newReplayer()
	at, err := t.restoreReplayer(ctx, replayer)
	if err != nil {
		return err
	}
	messages, err := t.log.consume(ctx, at+1)
	if err != nil {
		return fmt.Errorf("replay the log for its events: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("replay the log for its events: %w", err)
		}
		e, err := t.log.entryOf(ctx, m, at)
		if err != nil {
			return fmt.Errorf("replay the log for its events: %w", err)
		}
		at = e.Seq
		for events := replayer.Fold(e); len(events) > 0; events = events[min(len(events), publishBatch):] {
			if err := t.publish(ctx, events[:min(len(events), publishBatch)]); err != nil {
				return err
			}
		}
		if _, ok := t.source.EventsAfter(task.EventID{Seq: at + 1}); ok {
			t.last = task.EventID{Seq: at + 1} // there is no event between the last one and this place
			t.log.config.Logger.Info("published missing events", "last_entry", at, "took", time.Since(began).Round(time.Millisecond).String())
			return nil
		}
	}
}

// restoreReplayer gives past the youngest snapshot that is older than the last event, if
// the log does not begin with its first entry, and returns the entry behind which
// it goes on. The log is cut only where its events have been published (see
// Compact): nothing is missing before the oldest snapshot, unless somebody else cut.
func (t *publisher) restoreReplayer(ctx context.Context, replayer Replayer) (at uint64, err error) {
	head, err := t.log.identify(ctx)
	if err != nil {
		return 0, err
	}
	all, err := t.log.usableSnapshots(ctx, head.id, head.StreamState)
	if err != nil {
		return 0, err
	}
	for i, s := range all {
		oldest := i == len(all)-1
		if s.seq >= t.last.Seq && !oldest {
			continue
		}
		if s.seq >= t.last.Seq && head.complete {
			break // the log has more than the snapshot
		}
		if s.seq > head.FirstSeq && s.seq >= t.last.Seq {
			t.logLostEvents(s.seq)
		}
		if err := t.log.loadSnapshot(ctx, s, replayer.Restore); err != nil {
			return 0, fmt.Errorf("restore a snapshot to replay events: %w", err)
		}
		return s.seq, nil
	}
	if !head.complete {
		t.logLostEvents(head.FirstSeq)
	}
	return head.FirstSeq - 1, nil
}

// logLostEvents says that events can never be published.
func (t *publisher) logLostEvents(seq uint64) {
	t.log.config.Logger.Error("the log was cut before its events were published; the missing events are lost", "after", t.last.String(), "before_entry", seq)
}
