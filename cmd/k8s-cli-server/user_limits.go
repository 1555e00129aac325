package main

import (
	"github.com/spf13/pflag"

	"k8s-cli/pkg/task"
)

// userConfig holds the limits of one user.
type userConfig struct {
	active, waiting int
	rate            float64
	burst           int
	uploads         size
	outputs         size
}

func (c *userConfig) define(f *pflag.FlagSet) {
	f.IntVar(&c.active, "max-active-tasks", 0, "maximum number of tasks per user that have not ended; 0 means no limit")
	f.IntVar(&c.waiting, "max-waiting-tasks", 0, "maximum number of tasks per user whose Jobs do not exist yet; 0 means no limit")
	f.Float64Var(&c.rate, "submit-rate", 0, "maximum number of tasks that one user may submit per second to each server pod; 0 means no limit")
	f.IntVar(&c.burst, "submit-burst", 0, "number of tasks that a user may submit at once, before --submit-rate slows the user down (default: the number of tasks in one second)")
	c.uploads, c.outputs = 2<<30, 512<<20 // one user fills neither the store of outputs nor the disk of NATS
	f.Var(&c.uploads, "max-user-uploads", "maximum total size of the uploaded archives of one user; 0 means no limit")
	f.Var(&c.outputs, "max-user-outputs", "maximum total size of the stored outputs of the tasks of one user; 0 means no limit")
}

func (c *userConfig) check() error {
	switch {
	case c.active < 0 || c.waiting < 0:
		return usagef("--max-active-tasks and --max-waiting-tasks: %d and %d must both be at least 0", c.active, c.waiting)
	case c.rate < 0 || c.burst < 0:
		return usagef("--submit-rate and --submit-burst: %g and %d must both be at least 0", c.rate, c.burst)
	case c.burst > 0 && c.rate == 0:
		return usagef("--submit-burst requires --submit-rate")
	}
	return nil
}

func (c *userConfig) limits() task.UserLimits {
	return task.UserLimits{
		Active: c.active, Waiting: c.waiting, SubmitRate: c.rate, SubmitBurst: c.burst, UploadBytes: int64(c.uploads),
	}
}
