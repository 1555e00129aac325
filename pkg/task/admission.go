package task

import (
	"cmp"
	"fmt"
)

// JobLimits bound how many Jobs exist at once; 0 means no bound. A Job counts from
// the admission of its task until the log says that nothing is left of that.
type JobLimits struct {
	Total   int `json:"total,omitempty"`    // of all users
	PerUser int `json:"per_user,omitempty"` // of each user
}

// ExceedsTotal reports whether so many Jobs of all users are too many.
func (l JobLimits) ExceedsTotal(jobs int) bool { return l.Total > 0 && jobs > l.Total }

// ExceedsPerUser reports whether so many Jobs of one user are too many.
func (l JobLimits) ExceedsPerUser(jobs int) bool { return l.PerUser > 0 && jobs > l.PerUser }

// TooLarge says why a task with so many nodes, each of which is a Job, is never
// admitted; it is empty if it may be.
func (l JobLimits) TooLarge(nodes int) string {
	switch {
	case l.ExceedsPerUser(nodes):
		return fmt.Sprintf("the task has %d nodes, one Job each, but at most %d Jobs of one user may exist at once (--max-active-jobs-per-user)", nodes, l.PerUser)
	case l.ExceedsTotal(nodes):
		return fmt.Sprintf("the task has %d nodes, one Job each, but at most %d Jobs may exist at once (--max-active-jobs)", nodes, l.Total)
	}
	return ""
}

// AdmissionLimits bound which tasks are admitted; 0 means no bound.
type AdmissionLimits struct {
	JobLimits
	Unschedulable int // pods of one user for which the scheduler finds no node
}

// An Admission is what a controller has to do next so that tasks get their Jobs.
type Admission struct {
	Next   Admitted // no ids while no task may be admitted
	Evict  []Key    // finished tasks whose Jobs hold places that other tasks wait for
	Shared bool     // several users have tasks whose Jobs are still to be created
}

// A Turn is the place of a task among those of one user, or among all that wait for
// the same capacity.
type Turn struct {
	Priority int
	Order    uint64 // of the record
}

// Compare is negative if t is before u: the higher priority first, then the earlier
// submission.
func (t Turn) Compare(u Turn) int {
	return cmp.Or(cmp.Compare(u.Priority, t.Priority), cmp.Compare(t.Order, u.Order))
}
