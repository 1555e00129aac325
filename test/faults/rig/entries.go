package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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
	return readLog(ctx, js, r.Recorder)
}

// LoseLog removes the log of a server that does not run and has its own.
func (r *Rig) LoseLog(s *Server) error {
	if err := os.RemoveAll(r.path(s.Name)); err != nil {
		return fmt.Errorf("lose the log of %s: %w", s.Name, err)
	}
	return nil
}

func readLog(ctx context.Context, js jetstream.JetStream, recorder *history.Recorder) error {
	stream, err := js.Stream(ctx, logStream)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	last := stream.CachedInfo().State.LastSeq
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	seq := uint64(0)
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not within 2 minutes"))
	defer cancel()
	return Until(ctx, "the whole log to be read", func() (string, bool) { // what broke off goes on where it was
		err := readOn(ctx, stream, &seq, last, recorder)
		return fmt.Sprintf("entry %d of %d, %v", seq, last, err), err == nil
	})
}

// readOn records the entries after seq, and moves it.
func readOn(ctx context.Context, stream jetstream.Stream, seq *uint64, last uint64, recorder *history.Recorder) error {
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *seq + 1})
	if err != nil {
		return err
	}
	for *seq < last {
		batch, err := consumer.Fetch(500, jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			return err
		}
		before := *seq
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			*seq = meta.Sequence.Stream
			recorder.Entry(entryOf(*seq, m.Data()))
		}
		if *seq == before {
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
