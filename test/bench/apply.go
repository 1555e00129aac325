package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/rig"
	"k8s-cli/test/testkit"
)

const (
	waiting  = 10_000           // tasks whose Jobs are created in one measurement
	trial    = 2_000            // Jobs created for each trial of the baseline's concurrency
	patience = 10 * time.Minute // limit for the creation of the Jobs
)

// creations measures how fast the Jobs of waiting tasks are created.
func (b *bench) creations(ctx context.Context) error {
	f := &figure{
		Key: "create", Name: "Jobs created, 10,000 tasks waiting", Unit: "/s", Want: 0.85,
		Baseline: "a client-go loop that creates the same Jobs at its best concurrency, protobuf, no limit of its own",
	}
	writers, err := b.bestWriters(ctx)
	if err != nil {
		return err
	}
	requests := ""
	var costs, bareCosts spending
	for i := range b.rounds {
		b.say("create %d Jobs: round %d of %d", waiting, i+1, b.rounds)
		var ours, bare float64
		if ours, requests, err = b.applied(ctx, &costs); err != nil {
			break
		}
		if bare, err = b.bareCreate(ctx, waiting, writers, &bareCosts); err != nil {
			break
		}
		f.OursRounds, f.BareRounds = append(f.OursRounds, ours), append(f.BareRounds, bare)
	}
	f.Note = fmt.Sprintf("the baseline is fastest with %d requests at once; the server asks for each task: %s; processor time for each Job: server %s, baseline %s", writers, requests, costs, bareCosts)
	b.add(f, err)
	return nil
}

// applied returns how many Jobs per second the server creates of a batch that it accepted
// while the API server was paused. The time starts when the API server resumes. requests
// says which requests the server sent for each task.
func (b *bench) applied(ctx context.Context, spent *spending) (rate float64, requests string, err error) {
	defer b.place.Resume()
	err = b.fresh(ctx, "create", func(s *rig.Server, namespace string) error {
		if err := b.place.Pause(); err != nil {
			return err
		}
		if _, err := sendBatch(ctx, s.URL, rig.User(0), waiting); err != nil {
			return err
		}
		took, err := b.spend(spent, s.PID(), waiting, func() error {
			b.place.Resume()
			return b.awaitJobs(ctx, namespace, waiting)
		})
		if err != nil {
			return err
		}
		rate = waiting / took.Seconds()
		requests, err = b.perTask(namespace)
		return err
	})
	return rate, requests, err
}

// A spending is the processor time of what creates Jobs, of the API server and of etcd.
type spending struct {
	creator, apiServer, etcd time.Duration
	jobs                     int
}

// String returns the processor time for one Job.
func (c spending) String() string {
	n := time.Duration(max(c.jobs, 1))
	return fmt.Sprintf("%s + API server %s + etcd %s", short(c.creator/n), short(c.apiServer/n), short(c.etcd/n))
}

// spend runs f and adds its processor time. f creates this many Jobs in the process pid.
func (b *bench) spend(c *spending, pid, jobs int, f func() error) (took time.Duration, err error) {
	api, etcd, err := b.place.Control()
	if err != nil {
		return 0, err
	}
	own, began := rig.CPU(pid), time.Now()
	if err := f(); err != nil {
		return 0, err
	}
	took = time.Since(began)
	apiAfter, etcdAfter, err := b.place.Control()
	c.creator, c.apiServer, c.etcd, c.jobs = c.creator+rig.CPU(pid)-own, c.apiServer+apiAfter-api, c.etcd+etcdAfter-etcd, c.jobs+jobs
	return took, err
}

// perTask returns the requests that a server sent for each Job.
func (b *bench) perTask(namespace string) (string, error) {
	requests, jobs, err := b.place.Requests(namespace)
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		if share := float64(requests[kind]) / float64(max(jobs, 1)); share >= 0.001 {
			all = append(all, fmt.Sprintf("%s %.3f", kind, share))
		}
	}
	return strings.Join(all, ", "), err
}

// awaitJobs waits until a namespace has n Jobs.
func (b *bench) awaitJobs(ctx context.Context, namespace string, n int) error {
	ctx, cancel := testkit.WithPatience(ctx, patience)
	defer cancel()
	var failed error
	// Each request makes etcd count all Jobs, on the processors that are measured.
	err := testkit.UntilEvery(ctx, 100*time.Millisecond, fmt.Sprintf("%d Jobs", n), func() (string, bool) {
		have := 0
		have, failed = b.place.Jobs(ctx, namespace)
		return fmt.Sprintf("there are %d", have), failed != nil || have >= n
	})
	return errors.Join(err, failed)
}

// bestWriters returns the number of concurrent requests with which the bare loop is fastest.
func (b *bench) bestWriters(ctx context.Context) (best int, err error) {
	var most float64
	for _, writers := range []int{8, 16, 32, 64} {
		rate, err := b.bareCreate(ctx, trial, writers, &spending{})
		if err != nil {
			return 0, err
		}
		b.say("bare client-go loop, %d at once: %.0f Jobs/s", writers, rate)
		if rate > most {
			best, most = writers, rate
		}
	}
	return best, nil
}

func (b *bench) bareCreate(ctx context.Context, n, writers int, spent *spending) (rate float64, err error) {
	namespace, err := b.place.Namespace(ctx, "bare")
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.place.Clear(context.WithoutCancel(ctx), namespace) }()
	var reply baseline.Reply
	_, err = b.spend(spent, b.child.PID(), n, func() error {
		reply, err = b.child.Ask(baseline.Request{Create: &baseline.Create{
			Kubeconfig: b.place.Kubeconfig, Namespace: namespace, User: rig.User(0), Image: image, Task: sample, Count: n, Writers: writers,
		}})
		return err
	})
	return float64(n) / reply.Took.Seconds(), err
}

const (
	loneTasks  = 20          // tasks submitted one after the other
	crowd      = 50_000      // tasks of another user: the maximum of a batch
	underWay   = crowd / 100 // number of the crowd's Jobs that exist before the first lone task
	lonePauses = 50 * time.Millisecond
)

// loneTasks measures how long a task waits for its Job while the Jobs of another user are
// created.
func (b *bench) loneTasks(ctx context.Context) error {
	f := &figure{
		Key: "lone", Name: "a lone task's wait for its Job behind another user's 50,000", Unit: "s", Want: 3, AtMost: true,
		Baseline: "the same on a server with nothing else to do",
	}
	b.say("lone tasks on an idle server")
	err := b.fresh(ctx, "idle", func(s *rig.Server, namespace string) error {
		idle, err := b.waits(ctx, s, namespace)
		f.BareRounds, f.BareLatency = idle, quantilesOf(idle)
		return err
	})
	if err == nil {
		err = b.crowded(ctx, f)
	}
	b.add(f, err)
	return nil
}

func (b *bench) crowded(ctx context.Context, f *figure) error {
	defer b.place.Resume()
	return b.fresh(ctx, "crowded", func(s *rig.Server, namespace string) error {
		if err := b.place.Pause(); err != nil {
			return err
		}
		b.say("%d tasks of another user", crowd)
		if _, err := sendBatch(ctx, s.URL, rig.User(1), crowd); err != nil {
			return err
		}
		b.place.Resume()
		if err := b.awaitJobs(ctx, namespace, underWay); err != nil {
			return err
		}
		b.say("lone tasks behind them")
		busy, err := b.waits(ctx, s, namespace)
		if err != nil {
			return err
		}
		f.OursRounds, f.Latency = busy, quantilesOf(busy)
		have, err := b.place.Jobs(ctx, namespace)
		if err == nil && have >= crowd {
			err = errors.New("all Jobs of the other user were there before the last lone task came")
		}
		return err
	})
}

// waits submits one task after the other and returns how long each one waited for its Job,
// in seconds.
func (b *bench) waits(ctx context.Context, s *rig.Server, namespace string) (all []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	alone := rig.User(2)
	w, err := b.place.BatchV1().Jobs(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: task.LabelOwner + "=" + task.Owner(alone)})
	if err != nil {
		return nil, fmt.Errorf("watch the Jobs: %w", err)
	}
	defer w.Stop()
	for range loneTasks {
		time.Sleep(lonePauses) // so that the work on the former task is finished
		g, sending := errgroup.WithContext(ctx)
		began := time.Now()
		g.Go(func() error {
			_, err := ask(sending, s.URL, submission(alone))
			return err
		})
		for added := false; !added; {
			select {
			case e, open := <-w.ResultChan():
				if !open {
					return nil, errors.New("watch the Jobs: the watch ended")
				}
				added = e.Type == "ADDED"
			case <-ctx.Done():
				return nil, fmt.Errorf("a lone task has no Job: %w", ctx.Err())
			}
		}
		all = append(all, time.Since(began).Seconds())
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func quantilesOf(seconds []float64) *quantiles {
	if len(seconds) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(seconds))
	at := func(share float64) time.Duration {
		return time.Duration(sorted[int(share*float64(len(sorted)-1))] * float64(time.Second))
	}
	return &quantiles{at(0.5), at(0.99)}
}
