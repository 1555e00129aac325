package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/load"
	"k8s-cli/test/bench/rig"
)

const (
	readers = 32   // concurrent connections
	variety = 1000 // different tasks that are read in turn
	pageOf  = "/tasks?limit=100&all_users=true"
)

// reads measures the figures that need the large population.
func (b *bench) reads(ctx context.Context) error {
	small, err := b.seed(ctx, few)
	if err != nil {
		return err
	}
	large, err := b.seed(ctx, b.tasks)
	if err != nil {
		return err
	}
	one, err := b.open(ctx, small)
	if err != nil {
		return err
	}
	defer one.Kill()
	b.say("waiting until the API server has dealt with them")
	if err := b.place.Rest(ctx); err != nil {
		return err
	}
	took, size, err := b.place.Lists(ctx, large.Namespace)
	if err != nil {
		return err
	}
	all, err := b.open(ctx, large)
	if err != nil {
		return err
	}
	defer all.Kill()
	f := b.ready("ready", "ready, the whole log read", all)
	f.Note += fmt.Sprintf("; a client that lists all Jobs and pods, %s, and throws them away needs %s", bytesOf(float64(size)), short(took))
	b.add(f, nil)
	before, err := b.asked(large.Namespace)
	if err != nil {
		return err
	}
	for _, measure := range []func() error{
		func() error { return b.status(ctx, all, large) },
		func() error { return b.list(ctx, all, large) },
		func() error { return b.page(ctx, all, large) },
		func() error { return b.unchanged(ctx, all) },
		func() error { return b.growth(ctx, one, small, all, large) },
		func() error { return b.memory(ctx, one, small, all, large) },
		func() error { return b.quiet(before, large.Namespace) },
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	if !b.wants("ready-again") {
		return nil
	}
	one.Kill()
	if err := all.Terminate(ctx, 20*time.Second); err != nil {
		return err
	}
	if err := b.place.Rest(ctx); err != nil {
		return err
	}
	again, err := b.open(ctx, large)
	if err != nil {
		return err
	}
	defer again.Kill()
	b.add(b.ready("ready-again", "ready again", again), nil)
	return nil
}

func (b *bench) seed(ctx context.Context, n int) (*rig.Population, error) {
	b.say("seeding %d tasks, each with a Job and a pod", n)
	return b.place.Seed(ctx, n, sample, image, func(done int) { b.say("  %d of %d", done, n) })
}

func (b *bench) open(ctx context.Context, p *rig.Population) (*rig.Server, error) {
	b.say("starting a server on %d tasks", len(p.Tasks))
	return b.place.Serve(ctx, rig.Settings{Program: b.server, Namespace: p.Namespace, DataDir: p.DataDir})
}

func (b *bench) ready(key, name string, s *rig.Server) *figure {
	return &figure{
		Key: key, Name: fmt.Sprintf("%s, %d tasks", name, b.tasks), Unit: "s", Ours: s.Ready.Seconds(), Want: 5, AtMost: true,
		Note: fmt.Sprintf("it took %s of processors until then", short(s.Took)),
	}
}

// compare measures one figure of the server and of bare Fiber in turn.
func (b *bench) compare(ctx context.Context, f *figure, s *rig.Server, ours []load.Request, answers baseline.Route) error {
	if !b.wants(f.Key) {
		return nil
	}
	url, err := b.serve(answers)
	if err != nil {
		return err
	}
	theirs := moved(ours, answers.Path)
	var mine, bare measured
	for i := range b.rounds {
		b.say("%s: round %d of %d", f.Key, i+1, b.rounds)
		before := s.Memory()
		if err = mine.load(ctx, b.spec(s.URL, readers, ours...), s.PID()); err != nil {
			break
		}
		mine.allocated += s.Memory().Allocated - before.Allocated
		if err = bare.load(ctx, b.spec(url, readers, theirs...), b.child.PID()); err != nil {
			break
		}
	}
	f.fill(&mine, &bare)
	b.add(f, err)
	return ctx.Err()
}

// statuses returns status requests for tasks of all ages and users.
func statuses(p *rig.Population) []load.Request {
	var all []load.Request
	step := max(len(p.Tasks)/variety, 1)
	for i := 0; i < len(p.Tasks) && len(all) < variety; i += step {
		all = append(all, load.Request{Path: "/tasks/" + p.Tasks[i].ID, Header: asUser(p.Tasks[i].User)})
	}
	return all
}

// echo measures a figure whose baseline is bare Fiber that returns the answer to the first
// request.
func (b *bench) echo(ctx context.Context, f *figure, s *rig.Server, requests ...load.Request) error {
	route, err := record(ctx, s.URL, requests[0], "/"+f.Key)
	if err != nil {
		return err
	}
	f.Unit, f.Baseline = "/s", "bare Fiber that returns the same bytes and headers"
	f.Note = fmt.Sprintf("an answer has %s", bytesOf(float64(len(route.Body))))
	return b.compare(ctx, f, s, requests, route)
}

func (b *bench) status(ctx context.Context, s *rig.Server, p *rig.Population) error {
	name := fmt.Sprintf("GET /tasks/{id}, %d tasks, %d connections", len(p.Tasks), readers)
	return b.echo(ctx, &figure{Key: "status", Name: name, Want: 0.75}, s, statuses(p)...)
}

func (b *bench) list(ctx context.Context, s *rig.Server, p *rig.Population) error {
	name := fmt.Sprintf("GET /tasks of a user with %d among %d", rig.PerUser, len(p.Tasks))
	return b.echo(ctx, &figure{Key: "list", Name: name, Want: 0.6}, s, load.Request{Path: "/tasks", Header: asUser(rig.User(0))})
}

func (b *bench) page(ctx context.Context, s *rig.Server, p *rig.Population) error {
	name := fmt.Sprintf("a page of 100 of %d", len(p.Tasks))
	return b.echo(ctx, &figure{Key: "page", Name: name, Want: 0.6}, s, load.Request{Path: pageOf, Header: asUser(rig.User(0))})
}

func (b *bench) unchanged(ctx context.Context, s *rig.Server) error {
	request := load.Request{Path: pageOf, Header: asUser(rig.User(0))}
	got, err := ask(ctx, s.URL, request)
	if err != nil {
		return err
	}
	request.Header["If-None-Match"] = got.Header.Get("ETag")
	again, err := ask(ctx, s.URL, request)
	if err != nil {
		return err
	}
	if again.Code != http.StatusNotModified {
		return fmt.Errorf("a page that did not change is answered with %s", again)
	}
	return b.compare(ctx, &figure{
		Key: "unchanged", Name: "the same with If-None-Match", Unit: "/s", Want: 0.8,
		Baseline: "bare Fiber that returns 304 and nothing else",
	}, s, []load.Request{request}, baseline.Route{Path: "/unchanged", Status: http.StatusNotModified})
}

// growth compares reads from the large population with reads from the small one.
func (b *bench) growth(ctx context.Context, one *rig.Server, small *rig.Population, all *rig.Server, large *rig.Population) error {
	f := &figure{
		Key: "growth", Name: fmt.Sprintf("status p50 at %d tasks", len(large.Tasks)), Unit: "s", Want: 1.2, AtMost: true,
		Baseline: fmt.Sprintf("the same at %d", few),
	}
	if !b.wants(f.Key) {
		return nil
	}
	var ours, bare measured
	var err error
	for i := range b.rounds {
		b.say("growth: round %d of %d", i+1, b.rounds)
		if err = ours.load(ctx, b.spec(all.URL, readers, statuses(large)...), all.PID()); err != nil {
			break
		}
		if err = bare.load(ctx, b.spec(one.URL, readers, statuses(small)...), one.PID()); err != nil {
			break
		}
		f.OursRounds, f.BareRounds = append(f.OursRounds, ours.p50[i].Seconds()), append(f.BareRounds, bare.p50[i].Seconds())
	}
	if len(f.BareRounds) > 0 {
		f.Latency, f.BareLatency = ours.latency(), bare.latency()
	}
	b.add(f, err)
	return ctx.Err()
}

// memory reports how many bytes of the heap a task takes.
func (b *bench) memory(ctx context.Context, one *rig.Server, small *rig.Population, all *rig.Server, large *rig.Population) error {
	if !b.wants("memory") {
		return nil
	}
	b.say("memory: waiting for collections")
	little, err := b.live(ctx, one, small)
	if err != nil {
		return err
	}
	much, err := b.live(ctx, all, large)
	if err != nil {
		return err
	}
	more := float64(len(large.Tasks) - len(small.Tasks))
	f := &figure{
		Key: "memory", Name: fmt.Sprintf("heap for each of %d tasks", len(large.Tasks)), Unit: "B", Want: 2.5 * 1024, AtMost: true,
		Ours: float64(much-little) / more,
		Note: fmt.Sprintf("in use %s at %d tasks, %s at %d; resident %s and %s", bytesOf(float64(much)), len(large.Tasks),
			bytesOf(float64(little)), len(small.Tasks), bytesOf(float64(rig.RSS(all.PID()))), bytesOf(float64(rig.RSS(one.PID())))),
	}
	if stat, err := os.Stat(large.DataDir); err == nil && stat.IsDir() {
		f.Note += fmt.Sprintf("; the log takes %s", bytesOf(float64(rig.DirSize(large.DataDir))))
	}
	b.add(f, nil)
	return nil
}

// asked returns how many requests the server sent to the API server, without watches: the
// server renews watches periodically.
func (b *bench) asked(namespace string) (n int, err error) {
	kinds, _, err := b.place.Requests(namespace)
	for kind, count := range kinds {
		if !strings.HasPrefix(kind, "watch ") {
			n += count
		}
	}
	return n, err
}

// quiet reports how many requests the server has sent since before.
func (b *bench) quiet(before int, namespace string) error {
	after, err := b.asked(namespace)
	if err != nil {
		return err
	}
	b.add(&figure{Key: "asked", Name: "requests to the API server for all these reads", Ours: float64(after - before), AtMost: true}, nil)
	return nil
}

const collectionPatience = 5 * time.Minute // an idle Go program collects every two minutes

// live returns the bytes of a server's heap that a collection found in use. live sends
// status requests until the server collects.
func (b *bench) live(ctx context.Context, s *rig.Server, p *rig.Population) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, collectionPatience, fmt.Errorf("no collection within %s", collectionPatience))
	defer cancel()
	requests := statuses(p)
	for enough := s.Memory().Collections + 1; s.Memory().Collections < enough; {
		if _, err := load.Run(ctx, b.spec(s.URL, readers, requests...)); err != nil {
			return 0, fmt.Errorf("wait for a collection: %w", err)
		}
	}
	return s.Memory().Live, nil
}
