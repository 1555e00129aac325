package rig

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit"
)

// A tail records the log as it grows. A tail reads from one node after the other, because a
// node may be down or separated.
type tail struct {
	*logReader
	cancel context.CancelFunc
	done   chan struct{}
}

const (
	tailPause = 50 * time.Millisecond // between two requests for an entry that does not exist yet
	tailTurn  = 20                    // such requests to one node before the tail continues at the next node
	tailWidth = 16                    // entries requested concurrently
)

func (r *Rig) follow() *tail {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tail{logReader: newLogReader(r.Recorder), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		for turn := 0; ctx.Err() == nil; turn++ {
			_ = t.from(ctx, r.Nodes[turn%len(r.Nodes)]) // the next node may answer
			_ = testkit.Pause(ctx, tailPause)           // the loop ends with ctx
		}
	}()
	return t
}

// end stops the tail and returns its reader.
func (t *tail) end() *logReader {
	t.cancel()
	<-t.done
	return t.logReader
}

// from records entries that one node returns, until the node fails or has had no new entry
// for a while.
func (t *tail) from(ctx context.Context, node *Node) error {
	nc, err := nats.Connect(node.URL, nats.NoReconnect(), nats.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(askTimeout))
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, logStream)
	if err != nil {
		return err
	}
	width := 1
	for idle := 0; idle < tailTurn; {
		n, err := t.next(ctx, stream, width)
		switch {
		case n == width:
			width, idle = min(2*width, tailWidth), 0
			continue
		case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
			return err
		}
		width = 1
		idle++
		if err := testkit.Pause(ctx, tailPause); err != nil {
			return err
		}
	}
	return t.skip(ctx, stream)
}

// next requests the next entries and records those that exist.
func (t *tail) next(ctx context.Context, stream jetstream.Stream, width int) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	entries, errs := make([]*jetstream.RawStreamMsg, width), make([]error, width)
	var all sync.WaitGroup
	for i := range width {
		all.Go(func() { entries[i], errs[i] = stream.GetMsg(ctx, t.seq+1+uint64(i)) }) //nolint:gosec // a small number
	}
	all.Wait()
	for i, e := range entries {
		if errs[i] != nil {
			return i, errs[i]
		}
		t.take(e.Sequence, e.Time, e.Data)
	}
	return width, nil
}

// skip skips entries that were removed before the tail had read them.
func (t *tail) skip(ctx context.Context, stream jetstream.Stream) error {
	info, err := stream.Info(ctx)
	if err != nil || info.State.FirstSeq <= t.seq+1 {
		return err
	}
	first, err := stream.GetMsg(ctx, info.State.FirstSeq)
	if err == nil {
		t.take(first.Sequence, first.Time, first.Data)
	}
	return err
}
