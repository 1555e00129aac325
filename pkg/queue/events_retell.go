package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// retell makes the events again that this pod does not remember, since it began
// behind them or too many came since, and publishes them.
func (t *telling) retell(ctx context.Context) error {
	began := time.Now()
	past := t.past()
	at, err := t.pastOf(ctx, past)
	if err != nil {
		return err
	}
	messages, err := t.log.consume(ctx, at+1)
	if err != nil {
		return fmt.Errorf("read the log again for its events: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("read the log again for its events: %w", err)
		}
		e, err := t.log.entryOf(ctx, m, at)
		if err != nil {
			return fmt.Errorf("read the log again for its events: %w", err)
		}
		at = e.Seq
		for events := past.Fold(e); len(events) > 0; events = events[min(len(events), tellBatch):] {
			if err := t.tell(ctx, events[:min(len(events), tellBatch)]); err != nil {
				return err
			}
		}
		if _, ok := t.from.EventsAfter(task.Place{Seq: at + 1}); ok {
			t.last = task.Place{Seq: at + 1} // there is no event between the last one and this place
			t.log.config.Logger.Info("events published that were missing", "up to entry", at, "took", time.Since(began).Round(time.Millisecond).String())
			return nil
		}
	}
}

// pastOf gives past the youngest snapshot that is older than the last event, if
// the log does not begin with its first entry, and returns the entry behind which
// it goes on. The log is cut only where its events have been published (see
// Drop): nothing is missing before the oldest snapshot, unless somebody else cut.
func (t *telling) pastOf(ctx context.Context, past Past) (at uint64, err error) {
	head, err := t.log.identify(ctx)
	if err != nil {
		return 0, err
	}
	all, err := t.log.covering(ctx, head.id, head.StreamState)
	if err != nil {
		return 0, err
	}
	for i, s := range all {
		oldest := i == len(all)-1
		if s.seq >= t.last.Seq && !oldest {
			continue
		}
		if s.seq >= t.last.Seq && head.whole {
			break // the log has more than the snapshot
		}
		if s.seq > head.FirstSeq && s.seq >= t.last.Seq {
			t.lost(s.seq)
		}
		if err := t.log.load(ctx, s, past.Restore); err != nil {
			return 0, fmt.Errorf("make events again from a snapshot: %w", err)
		}
		return s.seq, nil
	}
	if !head.whole {
		t.lost(head.FirstSeq)
	}
	return head.FirstSeq - 1, nil
}

// lost says that events can never be published.
func (t *telling) lost(seq uint64) {
	t.log.config.Logger.Error("somebody cut the log before its events were published: those that are missing cannot be made again", "after", t.last.String(), "before entry", seq)
}
