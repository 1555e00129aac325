package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
)

// Entries records what the log holds. A log inside a server is read once that
// has ended, by a NATS of the harness. What is not reachable is left out.
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
			Name: "nats", URL: fmt.Sprintf("nats://127.0.0.1:%d", port), program: r.config.Programs.NATS, journal: j,
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
	return RecordLog(ctx, js, r.Recorder)
}

// RecordLog records what the log and the stream of events hold.
func RecordLog(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	return errors.Join(readLog(ctx, js, recorder), readEvents(ctx, js, recorder))
}

// LoseLog removes the log of a server that does not run and has its own.
func (r *Rig) LoseLog(s *Server) error {
	if err := os.RemoveAll(r.path(s.Name)); err != nil {
		return fmt.Errorf("lose the log of %s: %w", s.Name, err)
	}
	return nil
}

func readLog(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	past := cache.NewPast()
	return readStream(ctx, js, logStream, func(first bool, seq uint64, m jetstream.Msg) error {
		recorder.Entry(entryOf(seq, m.Data()))
		if first && seq > 1 {
			past = nil // what came before was cut
		}
		if past == nil {
			return nil
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		var e task.Entry
		if err := json.Unmarshal(m.Data(), &e); err != nil {
			return nil // the checker says so
		}
		e.Seq, e.Time = seq, meta.Timestamp
		for _, event := range past.Fold(e) {
			recorder.Event(history.EventOf(history.LogEar, event))
		}
		return nil
	})
}

func readEvents(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	return readStream(ctx, js, eventStream, func(_ bool, _ uint64, m jetstream.Msg) error {
		var event task.Event
		if err := json.Unmarshal(m.Data(), &event); err != nil {
			return fmt.Errorf("event %q: %w", m.Data(), err)
		}
		recorder.Event(history.EventOf(history.StoredEar, event))
		return nil
	})
}

// readStream calls do for every message of a stream; first is true for the first
// of them.
func readStream(ctx context.Context, js jetstream.JetStream, name string, do func(first bool, seq uint64, m jetstream.Msg) error) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, err)
	}
	r := reading{Stream: stream, last: stream.CachedInfo().State.LastSeq, do: do}
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not within 2 minutes"))
	defer cancel()
	return Until(ctx, "all of stream "+name+" to be read", func() (string, bool) { // what broke off goes on where it was
		err := r.on(ctx)
		return fmt.Sprintf("message %d of %d, %v", r.seq, r.last, err), err == nil
	})
}

// A reading has come as far as seq.
type reading struct {
	jetstream.Stream
	seq, last uint64
	do        func(first bool, seq uint64, m jetstream.Msg) error
}

// on reads on to the end.
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
			first := r.seq == 0
			r.seq = meta.Sequence.Stream
			if err := r.do(first, r.seq, m); err != nil {
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
	_ = json.Unmarshal(data, &e) // the checker sees that it has no log's id
	out := history.Entry{Seq: seq, Log: e.Log, Writer: e.Writer, Number: e.Number}
	for _, raw := range e.Commands {
		var c struct {
			Submit *task.Submit `json:"submit"`
		}
		if json.Unmarshal(raw, &c) == nil && c.Submit != nil {
			out.Submits = append(out.Submits, c.Submit.ID+" "+c.Submit.Task.Name)
		}
	}
	return out
}
