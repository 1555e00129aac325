package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/load"
	"k8s-cli/test/testkit"
)

const (
	killEvery = 20 * time.Second // between two kills of the leader
	loneEvery = 5 * time.Second  // between two tasks of the user with one task at a time

	crowdUser, loneUser = "crowd", "lone"
)

// waiting are the reasons of tasks without Jobs.
var waiting = []string{task.ReasonBacklog, task.ReasonMaxJobs, task.ReasonMaxUserJobs}

// full: one user submits far more tasks than Jobs may exist, while the leader is killed
// repeatedly for the duration -away. Another user submits one task at a time.
func full(ctx context.Context, p *performance) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	submitted := make(chan struct{})
	go func() {
		defer close(submitted)
		p.load.Run(ctx, p.tasks, func(ctx context.Context, a *load.Actor) {
			a.User = crowdUser
			load.SubmitOnly(ctx, a)
		})
	}()
	waits := make(chan []time.Duration, 1)
	ends, end := context.WithTimeout(ctx, p.away)
	defer end()
	go func() { waits <- p.loneTasks(ends) }()
	err := p.killLeaders(ends)
	end()
	lone := <-waits
	<-submitted
	slices.Sort(lone)
	if len(lone) > 0 {
		fmt.Fprintf(p.out, "%d tasks of another user waited for their Jobs: p50 %s, p90 %s, longest %s\n",
			len(lone), lone[len(lone)/2].Round(time.Millisecond), lone[len(lone)*9/10].Round(time.Millisecond), lone[len(lone)-1].Round(time.Millisecond))
	}
	if err != nil {
		return err
	}
	a := p.load.Actor(0)
	a.User = crowdUser
	if op := a.StopAll(ctx, a.Target()); !op.OK() {
		return fmt.Errorf("stop all that still waits: %d %s", op.Code, op.Err)
	}
	return nil
}

func (p *performance) killLeaders(ctx context.Context) error {
	for {
		if p.pass(ctx, killEvery) != nil {
			return nil
		}
		leader, _, err := p.Leader(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		leader.Kill()
		p.kills++
		p.faults++
		p.say("SIGKILL of the leader %s", leader.Name)
		if err := leader.Start(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// loneTasks submits the tasks of the user with one task at a time. loneTasks returns for
// each task the time from its acceptance to the creation of its Job.
func (p *performance) loneTasks(ctx context.Context) (waits []time.Duration) {
	a := p.load.Actor(0)
	a.User = loneUser
	for p.pass(ctx, loneEvery) == nil {
		id, ok := load.SubmitOnly(ctx, a)
		if !ok {
			continue
		}
		began := time.Now()
		err := testkit.Until(context.WithoutCancel(ctx), "the Job of a lone task", func() (string, bool) {
			reason, err := a.Reason(ctx, a.Target(), id)
			return fmt.Sprint(reason, err), err == nil && !slices.Contains(waiting, reason)
		})
		if err == nil {
			waits = append(waits, time.Since(began))
		}
	}
	return waits
}
