package main

import (
	"cmp"

	"github.com/spf13/pflag"

	"k8s-cli/pkg/task"
)

// admissionConfig holds the flags that limit how many Jobs may exist.
type admissionConfig struct{ jobs, jobsPerUser, unschedulable int }

func (c *admissionConfig) define(f *pflag.FlagSet) {
	f.IntVar(&c.jobs, "max-active-jobs", 20000, "maximum number of Jobs of all users; each node of a task has one Job, and a finished Job counts until the server deletes it; while tasks wait, the server deletes finished Jobs before --keep-jobs; 0 means no limit")
	f.IntVar(&c.jobsPerUser, "max-active-jobs-per-user", 0, "maximum number of Jobs of one user, counted as for --max-active-jobs (default: nine tenths of --max-active-jobs)")
	f.IntVar(&c.unschedulable, "max-unschedulable-pods", 1000, "maximum number of pods of one user that the scheduler cannot place; at this number, the server creates no Jobs for further tasks of the user; 0 means no limit")
}

func (c *admissionConfig) check() error {
	for _, limit := range []struct {
		flag  string
		value int
	}{
		{"max-active-jobs", c.jobs}, {"max-active-jobs-per-user", c.jobsPerUser}, {"max-unschedulable-pods", c.unschedulable},
	} {
		if limit.value < 0 {
			return usagef("--%s: %d must be at least 0", limit.flag, limit.value)
		}
	}
	if c.jobs > 0 && c.jobsPerUser > c.jobs {
		return usagef("--max-active-jobs-per-user: %d is more than --max-active-jobs, which is %d", c.jobsPerUser, c.jobs)
	}
	return nil
}

// limits returns the admission limits. By default one user can have at most nine tenths
// of all Jobs, so that other users' tasks can still start.
func (c *admissionConfig) limits() task.AdmissionLimits {
	const tenths = 9
	perUser := c.jobsPerUser
	if c.jobs > 0 {
		perUser = cmp.Or(perUser, max(c.jobs*tenths/10, 1))
	}
	return task.AdmissionLimits{
		JobLimits:     task.JobLimits{Total: c.jobs, PerUser: perUser},
		Unschedulable: c.unschedulable,
	}
}
