package task

import (
	"cmp"
	"fmt"
)

// JobLimits bounds how many Jobs exist at once; 0 means no limit. A Job counts from the
// admission of its task until the fact CleanedUp.
type JobLimits struct {
	Total   int `json:"total,omitempty"`    // of all users
	PerUser int `json:"per_user,omitempty"` // of each user
}

// ExceedsTotal reports whether a number of Jobs of all users exceeds the limit.
func (l JobLimits) ExceedsTotal(jobs int) bool { return l.Total > 0 && jobs > l.Total }

// ExceedsPerUser reports whether a number of Jobs of one user exceeds the limit.
func (l JobLimits) ExceedsPerUser(jobs int) bool { return l.PerUser > 0 && jobs > l.PerUser }

// TooLarge returns why a task with this number of nodes can never be admitted, or "". Each
// node has one Job.
func (l JobLimits) TooLarge(nodes int) string {
	switch {
	case l.ExceedsPerUser(nodes):
		return fmt.Sprintf("the task has %d nodes, one Job each, but at most %d Jobs of one user may exist at once (--max-active-jobs-per-user)", nodes, l.PerUser)
	case l.ExceedsTotal(nodes):
		return fmt.Sprintf("the task has %d nodes, one Job each, but at most %d Jobs may exist at once (--max-active-jobs)", nodes, l.Total)
	}
	return ""
}

// AdmissionLimits bounds which tasks are admitted; 0 means no limit.
type AdmissionLimits struct {
	JobLimits
	Unschedulable int // pods of one user that the scheduler cannot place
}

// An Admission tells the controller which tasks to admit and which Jobs to evict.
type Admission struct {
	Next   Admitted // without ids if no task may be admitted
	Evict  []Key    // finished tasks whose Jobs occupy places that other tasks wait for
	Shared bool     // several users have tasks whose Jobs are not created yet
}

// A Turn is the position of a task among the waiting tasks of one user, or among all tasks
// that wait for the same capacity.
type Turn struct {
	Priority int
	Order    uint64 // Record.Order
}

// Compare returns a negative number if t comes before u: higher priority first, then
// earlier submission.
func (t Turn) Compare(u Turn) int {
	return cmp.Or(cmp.Compare(u.Priority, t.Priority), cmp.Compare(t.Order, u.Order))
}
