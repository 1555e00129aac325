package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// Entries records the entries of the log. Entries terminates a server with an embedded log
// and reads that log with a NATS server of the harness.
func (r *Rig) Entries(ctx context.Context) error {
	if len(r.Nodes) == 0 {
		if err := r.Servers[0].Terminate(ctx); err != nil {
			return err
		}
		j, err := newJournal(r.path("nats.log"))
		if err != nil {
			return err
		}
		port := r.port()
		n := &Node{
			Name: "nats", URL: fmt.Sprintf("nats://127.0.0.1:%d", port), journal: j,
			arguments: []string{"--addr", "127.0.0.1", "--port", fmt.Sprint(port), "--jetstream", "--store_dir", r.path(r.Servers[0].Name)},
		}
		if err := n.Start(); err != nil {
			return err
		}
		r.Nodes = append(r.Nodes, n)
		if err := r.AwaitNATS(ctx); err != nil {
			return err
		}
	}
	js, disconnect, err := r.JetStream()
	if err != nil {
		return err
	}
	defer disconnect()
	log := newLogReader(r.Recorder)
	if r.tail != nil {
		log = r.tail.end()
	}
	return errors.Join(log.rest(ctx, js), readEvents(ctx, js, r.Recorder))
}

// RecordLog records the entries of the log and the events of the stream EVENTS.
func RecordLog(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	return errors.Join(newLogReader(recorder).rest(ctx, js), readEvents(ctx, js, recorder))
}

// A logReader records the entries of the log. A logReader also records the events that a
// fold of the log gives, as long as the reader has missed no entry.
type logReader struct {
	recorder *history.Recorder
	past     *cache.Replayer // nil once entries were removed that the reader has not read
	seq      uint64          // of the last entry
}

func newLogReader(recorder *history.Recorder) *logReader {
	return &logReader{recorder: recorder, past: cache.NewReplayer()}
}

// rest records the entries that were not read yet.
func (l *logReader) rest(ctx context.Context, js jetstream.JetStream) error {
	return readStream(ctx, js, logStream, l.seq, func(seq uint64, m jetstream.Msg) error {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		l.take(seq, meta.Timestamp, m.Data())
		return nil
	})
}

func (l *logReader) take(seq uint64, stored time.Time, data []byte) {
	recorded := entryOf(seq, data)
	recorded.At = l.recorder.Since(stored)
	recorded.Cut = seq != l.seq+1
	l.recorder.Entry(recorded)
	if recorded.Cut {
		l.past = nil
	}
	l.seq = seq
	if l.past == nil {
		return
	}
	var e task.Entry
	if json.Unmarshal(data, &e) != nil {
		return // the checker reports the invalid entry
	}
	e.Seq, e.Time = seq, stored
	for _, event := range l.past.Fold(e) {
		l.recorder.Event(history.EventOf(history.LogEar, event))
	}
}

func readEvents(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	return readStream(ctx, js, eventStream, 0, func(_ uint64, m jetstream.Msg) error {
		var event task.Event
		if err := json.Unmarshal(m.Data(), &event); err != nil {
			return fmt.Errorf("event %q: %w", m.Data(), err)
		}
		recorder.Event(history.EventOf(history.StoredEar, event))
		return nil
	})
}

// readStream calls do for every message of a stream after a sequence.
func readStream(ctx context.Context, js jetstream.JetStream, name string, after uint64, do func(seq uint64, m jetstream.Msg) error) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, err)
	}
	state := stream.CachedInfo().State
	r := reading{Stream: stream, seq: after, last: state.LastSeq, do: do}
	if state.Msgs == 0 || r.seq >= r.last {
		return nil
	}
	ctx, cancel := testkit.WithPatience(ctx, 2*time.Minute)
	defer cancel()
	return testkit.Until(ctx, "all of stream "+name+" to be read", func() (string, bool) { // an interrupted reading continues at its last message
		err := r.on(ctx)
		return fmt.Sprintf("message %d of %d, %v", r.seq, r.last, err), err == nil
	})
}

// A reading is a reader of a stream. seq is the last message that it has read.
type reading struct {
	jetstream.Stream
	seq, last uint64
	do        func(seq uint64, m jetstream.Msg) error
}

// on reads to the end of the stream.
func (r *reading) on(ctx context.Context) error {
	consumer, err := r.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.seq + 1})
	if err != nil {
		return err
	}
	for r.seq < r.last {
		batch, err := consumer.Fetch(500, jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			return err
		}
		before := r.seq
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			r.seq = meta.Sequence.Stream
			if err := r.do(r.seq, m); err != nil {
				return err
			}
		}
		if r.seq == before {
			return errors.Join(errors.New("it broke off"), batch.Error())
		}
	}
	return nil
}

func entryOf(seq uint64, data []byte) history.Entry {
	var e task.Entry
	_ = json.Unmarshal(data, &e) // the checker reports an entry without the id of the log
	out := history.Entry{Seq: seq, Log: e.Log, Writer: e.Writer, Number: e.Number, Begin: e.StartsLog}
	for _, raw := range e.Commands {
		var c task.Command
		if json.Unmarshal(raw, &c) != nil {
			continue
		}
		if command := commandOf(c); command.Kind != "" {
			out.Commands = append(out.Commands, command)
		}
	}
	return out
}

// commandOf returns the record of a user's command, and the zero Command for a fact.
func commandOf(c task.Command) history.Command {
	switch {
	case c.Submit != nil:
		return history.Command{Kind: history.Submit, ID: c.Submit.ID, Name: c.Submit.Task.Name, User: c.Submit.User}
	case c.Create != nil:
		return history.Command{Kind: history.Create, ID: c.Create.ID, Name: c.Create.Volume.Name, User: c.Create.User}
	case c.Stop != nil:
		return history.Command{Kind: history.Stop, ID: c.Stop.ID, User: c.Stop.User}
	case c.StopAll != nil:
		return history.Command{Kind: history.StopAll, User: c.StopAll.User}
	case c.Delete != nil:
		return history.Command{Kind: history.Delete, ID: c.Delete.ID, User: c.Delete.User}
	}
	return history.Command{}
}
