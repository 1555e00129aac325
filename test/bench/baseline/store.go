package baseline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const startTimeout = 20 * time.Second

// A Publish stores one message after the other, each on disk before the next one. The reply
// contains the median time for one.
type Publish struct {
	Dir  string        `json:"dir"`  // the parent of a temporary directory
	Size int           `json:"size"` // bytes of one message
	Time time.Duration `json:"time"`
}

// A Store decodes an array of tasks and stores as many bytes, in messages of size Each, each
// on disk before the next one. The reply contains the duration.
type Store struct {
	Dir   string `json:"dir"`
	Items []byte `json:"items"`
	Each  int    `json:"each"` // bytes of one message
}

func (p *Publish) run(ctx context.Context) (r Reply, err error) {
	err = withStream(ctx, p.Dir, func(publish func([]byte) error) error {
		message := bytes.Repeat([]byte("x"), p.Size)
		var took []time.Duration
		began := time.Now()
		for last := began; last.Sub(began) < p.Time; {
			if err := publish(message); err != nil {
				return err
			}
			now := time.Now()
			took, last = append(took, now.Sub(last)), now
		}
		slices.Sort(took)
		r.P50 = took[len(took)/2]
		return nil
	})
	return r, err
}

func (s *Store) run(ctx context.Context) (r Reply, err error) {
	err = withStream(ctx, s.Dir, func(publish func([]byte) error) error {
		began := time.Now()
		var items []submission
		if err := json.Unmarshal(s.Items, &items); err != nil {
			return err
		}
		for _, item := range items {
			if err := item.check(); err != nil {
				return err
			}
		}
		for part := range slices.Chunk(s.Items, s.Each) {
			if err := publish(part); err != nil {
				return err
			}
		}
		r.Took = time.Since(began)
		return nil
	})
	return r, err
}

// withStream calls use with a function that publishes to a new stream. NATS syncs every
// write of this stream.
func withStream(ctx context.Context, parent string, use func(publish func([]byte) error) error) error {
	dir, err := os.MkdirTemp(parent, "baseline-")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: dir, DontListen: true, NoSigs: true, SyncAlways: true})
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(startTimeout) {
		return errors.New("start NATS: it does not come up")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("connect to JetStream: %w", err)
	}
	config := jetstream.StreamConfig{Name: "LOG", Subjects: []string{"log"}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew}
	if _, err := js.CreateStream(ctx, config); err != nil {
		return fmt.Errorf("make a stream: %w", err)
	}
	return use(func(message []byte) error {
		_, err := js.Publish(ctx, "log", message)
		return err
	})
}
