package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/load"
	"k8s-cli/test/bench/rig"
	"k8s-cli/test/testkit"
)

const (
	soakHistory  = 2 * time.Minute
	soakKeep     = 30 * time.Second
	soakUsers    = 20
	submitters   = 32
	sampleEvery  = 10 * time.Second
	statusesEach = 200         // status requests of one sample, one after the other
	remembered   = 1000        // the number of latest tasks from which a sample chooses
	remembrance  = time.Minute // the age up to which a sample chooses a task: younger than the history
	endPatience  = 5 * time.Minute
)

// A soak submits tasks at a steady rate for a long time.
type soak struct {
	*bench
	server    *rig.Server
	namespace string
	dataDir   string

	submitted, refused, created, completed atomic.Int64

	mu      sync.Mutex
	last    []accepted // a ring buffer of the latest tasks
	next    int
	refusal error // the first refusal
}

// An accepted is a submitted task and its time of submission.
type accepted struct {
	rig.Owned
	at time.Time
}

// soakAll measures the rate of the cluster, submits at a share of that rate, and reports
// whether anything grew.
func (b *bench) soakAll(ctx context.Context) error {
	bare, err := b.bareLoop(ctx)
	if err != nil {
		return fmt.Errorf("the bare loop: %w", err)
	}
	rate := b.share * bare
	b.say("the bare loop completes %.1f Jobs/s; submitting %.1f tasks/s for %d minutes", bare, rate, b.minutes)
	s := &soak{bench: b}
	if s.namespace, err = b.place.Namespace(ctx, "soak"); err != nil {
		return err
	}
	dir, err := b.dir("soak")
	if err != nil {
		return err
	}
	s.dataDir = filepath.Join(dir, "log")
	flags := []string{"--history", soakHistory.String(), "--keep-jobs", soakKeep.String(), "--keep-logs", "0"} // the pods of fake nodes have no logs
	settings := rig.Settings{Program: b.server, Namespace: s.namespace, DataDir: s.dataDir, Flags: flags}
	settings.Env = []string{"GOGC=100"} // no ballast, which would hide growth
	if s.server, err = b.place.Serve(ctx, settings); err != nil {
		return err
	}
	defer s.server.Kill()
	samples, err := s.run(ctx, rate)
	if err != nil {
		return err
	}
	return s.report(bare, rate, samples)
}

// run submits, watches and samples. At the end, run waits until all tasks have run.
func (s *soak) run(ctx context.Context, rate float64) (samples []sampled, err error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	g, watching := errgroup.WithContext(watching)
	g.Go(func() error { return s.place.WatchJobs(watching, s.namespace, s.step) })
	began := time.Now()
	end := began.Add(time.Duration(s.minutes) * time.Minute)
	submitting, enough := context.WithDeadline(watching, end)
	defer enough()
	g.Go(func() error { return s.submitSteadily(submitting, rate) })
	for time.Now().Before(end) && watching.Err() == nil {
		if err := testkit.Pause(watching, sampleEvery); err != nil {
			break
		}
		one, err := s.sample(watching, time.Since(began))
		if err != nil {
			stop()
			return nil, errors.Join(err, g.Wait())
		}
		samples = append(samples, one)
		s.say("%s", one)
	}
	if watching.Err() == nil {
		err = s.finish(watching)
	}
	stop()
	if failed := g.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		err = failed
	}
	return samples, errors.Join(err, ctx.Err())
}

func (s *soak) step(_ string, c rig.Change) {
	switch c {
	case rig.Created:
		s.created.Add(1)
	case rig.Completed:
		s.completed.Add(1)
	}
}

// submitSteadily submits at a rate until ctx ends. A late submitter catches up.
func (s *soak) submitSteadily(ctx context.Context, rate float64) error {
	due := make(chan struct{}, submitters)
	var g sync.WaitGroup
	for range submitters {
		g.Go(func() {
			for range due {
				s.submit(context.WithoutCancel(ctx)) // a submission that has begun is finished
			}
		})
	}
	defer g.Wait()
	defer close(due)
	began := time.Now()
	for n := 1; ; n++ {
		at := began.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if testkit.Pause(ctx, time.Until(at)) != nil {
			return nil
		}
		select {
		case due <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *soak) submit(ctx context.Context) {
	user := rig.User(rand.IntN(soakUsers))
	got, err := ask(ctx, s.server.URL, submission(user))
	var answer task.Submitted
	if err == nil {
		err = json.Unmarshal(got.Body, &answer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused.Add(1)
		if s.refusal == nil {
			s.refusal = err
		}
		return
	}
	s.submitted.Add(1)
	if one := (accepted{rig.Owned{User: user, ID: answer.ID}, time.Now()}); len(s.last) < remembered {
		s.last = append(s.last, one)
	} else {
		s.last[s.next] = one
		s.next = (s.next + 1) % remembered
	}
}

// sample takes all measurements at one moment.
func (s *soak) sample(ctx context.Context, at time.Duration) (sampled, error) {
	s.mu.Lock()
	tasks := slices.DeleteFunc(slices.Clone(s.last), func(t accepted) bool { return time.Since(t.at) > remembrance })
	s.mu.Unlock()
	one := sampled{
		At: at.Seconds(), Submitted: s.submitted.Load(), Created: s.created.Load(), Completed: s.completed.Load(),
		Live: s.server.Memory().Live, RSS: rig.RSS(s.server.PID()), Log: rig.DirSize(s.dataDir),
	}
	var took []time.Duration
	for i := 0; i < statusesEach && len(tasks) > 0; i++ {
		t := tasks[rand.IntN(len(tasks))]
		began := time.Now()
		if _, err := ask(ctx, s.server.URL, load.Request{Path: "/tasks/" + t.ID, Header: asUser(t.User)}); err != nil {
			return one, fmt.Errorf("status: %w", err)
		}
		took = append(took, time.Since(began))
	}
	if len(took) > 0 {
		slices.Sort(took)
		one.P50, one.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return one, nil
}

// finish waits until every task has run and checks that the server reports the same.
func (s *soak) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endPatience, fmt.Errorf("not within %s", endPatience))
	defer cancel()
	for s.completed.Load() < s.submitted.Load() {
		if testkit.Pause(ctx, time.Second) != nil {
			return fmt.Errorf("%d of %d tasks have run: %w", s.completed.Load(), s.submitted.Load(), context.Cause(ctx))
		}
	}
	s.say("all %d tasks have run", s.submitted.Load())
	for _, phase := range []task.Phase{task.Pending, task.Running} {
		for left := true; left; {
			got, err := ask(ctx, s.server.URL, load.Request{Path: "/tasks?all_users=true&limit=1&status=" + string(phase), Header: asUser(rig.User(0))})
			if err != nil {
				return err
			}
			if left = strings.TrimSpace(string(got.Body)) != `{"tasks":[]}`; left && testkit.Pause(ctx, time.Second) != nil {
				return fmt.Errorf("the server still has tasks that are %s: %w", phase, context.Cause(ctx))
			}
		}
	}
	return nil
}
