package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/load"
	"k8s-cli/test/bench/rig"
)

const (
	many       = 256       // concurrent connections that submit
	batchItems = 10_000    // tasks of one batch
	storeEach  = 900 << 10 // bytes of each message that the baseline stores
)

// decoder makes the baseline decode and validate submissions and answer with the server's
// answer.
func (b *bench) decoder(ctx context.Context) (url string, requests []load.Request, err error) {
	var route baseline.Route
	err = b.paused(ctx, "record", func(s *rig.Server) error {
		route, err = record(ctx, s.URL, submission(rig.User(0)), "/decode")
		return err
	})
	if err != nil {
		return "", nil, err
	}
	url, err = b.serve(route)
	return url, moved([]load.Request{submission(rig.User(0))}, route.Path), err
}

// submits measures how many tasks per second are accepted from many concurrent clients. Each
// round has a new server, because the data of the former round would slow down the next.
func (b *bench) submits(ctx context.Context) error {
	f := &figure{
		Key: "submit", Name: "submit, 256 connections, applying paused", Unit: "/s", Want: 0.5,
		Baseline: "a Fiber handler that decodes and validates the same body, and returns the same answer",
	}
	url, decode, err := b.decoder(ctx)
	if err != nil {
		return err
	}
	var ours, bare measured
	for i := range b.rounds {
		b.say("submit, %d connections: round %d of %d", many, i+1, b.rounds)
		err = b.paused(ctx, "submit", func(s *rig.Server) error {
			before := s.Memory()
			err := ours.load(ctx, b.spec(s.URL, many, submission(rig.User(0))), s.PID())
			ours.allocated += s.Memory().Allocated - before.Allocated
			return err
		})
		if err == nil {
			err = bare.load(ctx, b.spec(url, many, decode...), b.child.PID())
		}
		if err != nil {
			break
		}
	}
	f.fill(&ours, &bare)
	b.add(f, err)
	return nil
}

// submitsOfOne measures how long the submission of a single client takes.
func (b *bench) submitsOfOne(ctx context.Context) error {
	f := &figure{
		Key: "submit-one", Name: "submit p50, one connection, applying paused", Unit: "s", Want: 1.5, AtMost: true,
		Baseline: "the p50 of one synced JetStream publish of as many bytes, plus that of one request to the Fiber handler of `submit`",
	}
	url, decode, err := b.decoder(ctx)
	if err != nil {
		return err
	}
	size, err := entrySize()
	if err != nil {
		return err
	}
	var ours, bare measured
	var publishes []float64
	for i := range b.rounds {
		b.say("submit, one connection: round %d of %d", i+1, b.rounds)
		err = b.paused(ctx, "submit", func(s *rig.Server) error {
			return ours.load(ctx, b.spec(s.URL, 1, submission(rig.User(0))), s.PID())
		})
		if err == nil {
			err = bare.load(ctx, b.spec(url, 1, decode...), b.child.PID())
		}
		var stored baseline.Reply
		if err == nil {
			publish := baseline.Publish{Dir: b.place.Work, Size: size, Time: time.Duration(b.seconds) * time.Second}
			stored, err = b.child.Ask(baseline.Request{Publish: &publish})
		}
		if err != nil {
			break
		}
		publishes = append(publishes, stored.P50.Seconds())
		f.OursRounds = append(f.OursRounds, ours.p50[i].Seconds())
		f.BareRounds = append(f.BareRounds, stored.P50.Seconds()+bare.p50[i].Seconds())
	}
	if len(publishes) > 0 {
		f.Latency, f.PerRequest = ours.latency(), ours.cost()
		f.Note = fmt.Sprintf("of the baseline, %s is the publish of %d bytes and %s the request",
			amount(median(publishes), "s"), size, short(median(bare.p50)))
	}
	b.add(f, err)
	return nil
}

// entrySize returns how many bytes one submission takes in the log.
func entrySize() (int, error) {
	command, err := task.Command{Submit: &task.Submit{ID: task.NewID(), User: rig.User(0), Task: sample, Image: image}}.Encode()
	if err != nil {
		return 0, err
	}
	entry, err := task.Marshal(task.Entry{
		Version: task.EntryVersion, Log: strings.Repeat("A", 26), Writer: strings.Repeat("A", 26), Number: 1000,
		Commands: []json.RawMessage{command},
	})
	return len(entry), err
}

// batch returns a batch request with this many tasks.
func batch(user string, items int) load.Request {
	r := submission(user)
	r.Path = "/tasks/batch"
	r.Body = "[" + strings.TrimSuffix(strings.Repeat(body+",", items), ",") + "]"
	return r
}

// sendBatch submits a batch and returns how long the answer took. The server must accept
// every task.
func sendBatch(ctx context.Context, url, user string, items int) (time.Duration, error) {
	request := batch(user, items)
	began := time.Now()
	got, err := ask(ctx, url, request)
	took := time.Since(began)
	if err != nil {
		return took, err
	}
	var answer task.Batch
	if err := json.Unmarshal(got.Body, &answer); err != nil {
		return took, fmt.Errorf("read the answer to a batch: %w", err)
	}
	if answer.Submitted != items {
		return took, fmt.Errorf("of %d tasks of a batch, %d were taken", items, answer.Submitted)
	}
	return took, nil
}

// batches measures how long a batch takes.
func (b *bench) batches(ctx context.Context) error {
	f := &figure{
		Key: "batch", Name: "POST /tasks/batch of 10,000, applying paused", Unit: " tasks/s", Want: 0.5,
		Baseline: "decoding and validating the same array, then synced publishes of as many bytes, 900 KB each",
	}
	items := batch(rig.User(0), batchItems).Body
	var err error
	for i := range b.rounds {
		b.say("batch of %d: round %d of %d", batchItems, i+1, b.rounds)
		err = b.paused(ctx, "batch", func(s *rig.Server) error {
			if _, err := sendBatch(ctx, s.URL, rig.User(1), few); err != nil { // so that the batch does not pay for the first request
				return err
			}
			took, err := sendBatch(ctx, s.URL, rig.User(0), batchItems)
			f.OursRounds = append(f.OursRounds, batchItems/took.Seconds())
			return err
		})
		var stored baseline.Reply
		if err == nil {
			store := baseline.Store{Dir: b.place.Work, Items: []byte(items), Each: storeEach}
			stored, err = b.child.Ask(baseline.Request{Store: &store})
		}
		if err != nil {
			break
		}
		f.BareRounds = append(f.BareRounds, batchItems/stored.Took.Seconds())
	}
	b.add(f, err)
	return nil
}
