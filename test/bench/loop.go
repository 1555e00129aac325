package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/bench/rig"
	"k8s-cli/test/testkit"
)

const (
	standing  = 1000 // Jobs of the bare loop that exist at a time
	creators  = 16   // concurrent creations, and as many concurrent deletions
	loopWarm  = 30 * time.Second
	loopTime  = time.Minute
	clearTime = 5 * time.Minute
)

// bareLoop returns how many Jobs per second a loop of client-go completes on this cluster.
// The loop creates Jobs as fast as the API server accepts them, up to a limit of existing
// Jobs, and deletes each completed Job.
func (b *bench) bareLoop(ctx context.Context) (rate float64, err error) {
	namespace, err := b.place.Namespace(ctx, "loop")
	if err != nil {
		return 0, err
	}
	b.say("a bare client-go loop, for %s", loopWarm+loopTime)
	var completed atomic.Int64
	done := make(chan string, standing)
	slots := make(chan struct{}, standing)
	running, stop := context.WithCancel(ctx)
	defer stop()
	g, running := errgroup.WithContext(running)
	g.Go(func() error {
		return b.place.WatchJobs(running, namespace, func(name string, c rig.Change) {
			if c == rig.Completed {
				completed.Add(1)
				done <- name // has capacity for all existing Jobs
			}
		})
	})
	for range creators {
		g.Go(func() error { return b.create(running, namespace, slots) })
		g.Go(func() error { return b.remove(running, namespace, done, slots) })
	}
	_ = testkit.Pause(running, loopWarm) // the group returns the error that ends running
	before, began := completed.Load(), time.Now()
	_ = testkit.Pause(running, loopTime)
	rate = float64(completed.Load()-before) / time.Since(began).Seconds()
	stop()
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return rate, errors.Join(ctx.Err(), b.empty(ctx, namespace))
}

// create creates Jobs while slots are free.
func (b *bench) create(ctx context.Context, namespace string, slots chan<- struct{}) error {
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		submit := task.Submit{ID: task.NewID(), User: rig.User(0), Task: sample, Image: image}
		record := &task.Record{Submit: submit, Hash: submit.Hash(), CreatedAt: time.Now().UTC(), Phase: task.Pending}
		if _, err := b.place.BatchV1().Jobs(namespace).Create(ctx, objects.Jobs(record, namespace)[0], metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a job: %w", err)
		}
	}
}

// remove deletes completed Jobs and releases their slots.
func (b *bench) remove(ctx context.Context, namespace string, done <-chan string, slots <-chan struct{}) error {
	background := metav1.DeletePropagationBackground
	for {
		select {
		case name := <-done:
			if err := b.place.BatchV1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				return fmt.Errorf("delete a job: %w", err)
			}
			<-slots
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// empty deletes all Jobs of a namespace and waits until they are gone. The API server gives
// up on a deletion of a collection after a minute.
func (b *bench) empty(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clearTime, fmt.Errorf("there are still some after %s", clearTime))
	defer cancel()
	background := metav1.DeletePropagationBackground
	for {
		refused := b.place.BatchV1().Jobs(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
		left, err := b.place.Left(ctx, namespace)
		if err != nil || left == 0 {
			return err
		}
		if testkit.Pause(ctx, time.Second) != nil {
			return fmt.Errorf("remove the jobs and pods: %w", errors.Join(refused, context.Cause(ctx)))
		}
	}
}
