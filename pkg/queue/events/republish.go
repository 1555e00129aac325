package events

import (
	"context"
	"fmt"
	"time"

	"k8s-cli/pkg/task"
)

// republish replays the log to produce the events that the Source of this pod does not hold,
// and publishes them. The Source lacks events that are older than its start or that newer
// events displaced.
func (p *Publisher) republish(ctx context.Context) error {
	began := time.Now()
	replayer := p.newReplayer()
	at, lost, err := p.stream.log.RestoreBefore(ctx, p.last.Seq, replayer.Restore)
	if err != nil {
		return fmt.Errorf("restore a snapshot to replay events: %w", err)
	}
	if lost > 0 {
		p.stream.config.Logger.Error("the command log was truncated before its events were published; the missing events are lost", "after", p.last.String(), "before_entry", lost)
	}
	for e, err := range p.stream.log.Entries(ctx, at) {
		if err != nil {
			return fmt.Errorf("replay the log for its events: %w", err)
		}
		for events := replayer.Fold(e); len(events) > 0; events = events[min(len(events), publishBatch):] {
			if err := p.publish(ctx, events[:min(len(events), publishBatch)]); err != nil {
				return err
			}
		}
		if _, ok := p.source.EventsAfter(task.EventID{Seq: e.Seq + 1}); ok {
			p.last = task.EventID{Seq: e.Seq + 1} // there is no event between the last event of the entry and this id
			p.stream.config.Logger.Info("published the events that the previous leader had not published", "last_entry", e.Seq, "took", time.Since(began).Round(time.Millisecond).String())
			return nil
		}
	}
	return errReplaced
}
