package submit

import (
	"context"
	"slices"
	"sync"

	"k8s-cli/pkg/task"
)

const (
	minWindow       = 256
	windowPerWorker = 4
)

// windowOf returns how many tasks may be admitted whose Jobs are not created yet. The window
// is so large that the workers never wait for the log. The window is not larger, because a new
// task of another user is admitted behind the tasks in the window.
func windowOf(workers int) int { return max(minWindow, windowPerWorker*workers) }

// admit admits tasks, and evicts finished Jobs whose places other tasks wait for, until ctx
// ends. Two loops admit tasks. The first walks through the backlog in its order. The second
// admits the first task of each user who has no task in the window, so that such a task does
// not wait until hundreds of other tasks are admitted.
func (c *Controller) admit(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	wake := [...]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	for n, next := range [...]func(int) task.Admission{c.store.Admission, c.store.FirstAdmission} {
		loops.Go(func() { c.admitWhile(ctx, next, wake[n]) })
	}
	for {
		for _, w := range wake {
			select {
			case w <- struct{}{}:
			default:
			}
		}
		select {
		case <-c.store.BacklogChanged():
		case <-ctx.Done():
			return
		}
	}
}

// admitWhile admits the tasks that next returns, each time that changed has a token.
func (c *Controller) admitWhile(ctx context.Context, next func(window int) task.Admission, changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		for c.admitNext(ctx, next) {
		}
	}
}

// admitNext appends one admission. The fold checks the limits again, so the loops need no read
// barrier. again is false if there is nothing to do before the backlog changes.
func (c *Controller) admitNext(ctx context.Context, choose func(window int) task.Admission) (again bool) {
	next := c.admitting.start(func() task.Admission { return choose(c.window) })
	defer c.admitting.finish(next)
	c.evict(next.Evict)
	if len(next.Next.IDs) == 0 || ctx.Err() != nil {
		return false
	}
	if next.Shared {
		c.config.Limiter.onContention()
	}
	result, err := c.log.Append(ctx, task.Command{Admitted: &next.Next})
	if err != nil {
		if ctx.Err() == nil && !expected(err) {
			c.config.Logger.Warn("admitting tasks failed; retrying", "err", err)
		}
		pause(ctx)
		return true
	}
	return result.Count > 0
}

// An appendGuard holds the tasks whose admission is being appended, so that only one of the
// two loops appends it.
type appendGuard struct {
	mu  sync.Mutex
	ids map[string]bool
}

// start returns an admission without the tasks that the guard holds, and adds its other tasks
// to the guard. start calls choose under the lock: an admission that has left the guard is
// folded already.
func (a *appendGuard) start(choose func() task.Admission) task.Admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	next := choose()
	next.Next.IDs = slices.DeleteFunc(next.Next.IDs, func(id string) bool { return a.ids[id] })
	for _, id := range next.Next.IDs {
		a.ids[id] = true
	}
	return next
}

func (a *appendGuard) finish(next task.Admission) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range next.Next.IDs {
		delete(a.ids, id)
	}
}

// rejectTooLarge ends a task that has more nodes than the limits ever admit. Any other task
// waits for its volumes or for its admission.
func (c *Controller) rejectTooLarge(ctx context.Context, k task.Key, v task.View) error {
	why := c.store.Limits().TooLarge(v.JobsToAdmit())
	if why == "" {
		return nil
	}
	return c.append(ctx, task.Command{Rejected: &task.Rejected{Key: k, Reason: task.ReasonTooLarge, Message: why}})
}
