package submit

import (
	"context"
	"time"

	"k8s-cli/pkg/task"
)

const (
	forgetEvery = time.Second // between looks at what the history has no room for
	forgetBatch = 1000        // tasks, and volumes, in one command
)

// forget ends the history of what is too old, or more than it has room for,
// until ctx ends. It is a matter of time, not of change: hence the ticker.
func (c *Controller) forget(ctx context.Context) {
	look := time.NewTicker(forgetEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if _, ok := c.log.Sync(ctx); !ok {
			continue
		}
		f := c.picture.Expired(time.Now().Add(-c.config.History), c.config.Tasks, forgetBatch)
		if len(f.IDs)+len(f.Volumes) == 0 {
			continue
		}
		if err := c.append(ctx, task.Command{Forget: &f}); err != nil && ctx.Err() == nil {
			c.config.Logger.Warn("forget old tasks, will try again", "err", err)
		}
	}
}
