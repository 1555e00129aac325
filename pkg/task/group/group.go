// Package group defines groups of tasks and job groups. It has the names of groups, the
// responses about groups, and the rules of job groups. All tasks that one user submits with
// the same name of a group are one group. A job group is tasks of one batch that start
// together.
package group

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/problem"
)

// Param is the name of the query parameter, and of the field of an item of a batch, that contains
// the name of a group.
const Param = "group"

// maxName is the largest length of the name of a group. The name is the value of a label.
const maxName = 63

// CheckName returns an error if name is not a valid name of a group.
func CheckName(name string) error {
	if name == "" {
		return errors.New("the name of a group must not be empty")
	}
	return task.CheckLabelValue(name)
}

// Name returns the valid name of a group that is the most similar to text, at most limit bytes
// long.
func Name(text string, limit int) string {
	name := strings.Map(func(r rune) rune {
		if task.CheckLabelValue(string(r)) == nil || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, text)
	return strings.Trim(name[:min(len(name), limit, maxName)], "-_.")
}

// NotFound returns the error about a group that a user does not have.
func NotFound(name string) error {
	return problem.New(problem.GroupNotFound, fmt.Sprintf("Group %s not found", task.Quote(name)))
}

// A Group is the body of GET /groups/{group}: the state of all tasks of a group that are in the
// history.
type Group struct {
	Name     string          `json:"group"`
	User     string          `json:"user"`
	Phase    task.Phase      `json:"status"` // see Status
	Total    int             `json:"total"`
	ByStatus overview.Counts `json:"by_status"`
	Progress float64         `json:"progress"` // part of the tasks that are over, from 0 to 1

	SubmittedAt time.Time  `json:"submitted_at"`           // when the first task was submitted
	StartedAt   *time.Time `json:"started_at,omitempty"`   // when the first task began to run
	EndedAt     *time.Time `json:"ended_at,omitempty"`     // when the last task ended; absent while tasks are not over
	EstimatedAt *time.Time `json:"estimated_at,omitempty"` // when the last task will end at the present rate; absent if unknown
	First       *Failure   `json:"first_failure,omitempty"`
}

// A Failure is a task of a group that failed.
type Failure struct {
	ID       string    `json:"task_id"`
	Name     string    `json:"name"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	ExitCode *int      `json:"exit_code,omitempty"` // of the first failed node that has one
	Point    string    `json:"point,omitempty"`     // of a sweep, as in overview.Row
	EndedAt  time.Time `json:"ended_at"`
}

// A List is the body of GET /groups, newest first.
type List struct {
	Groups []Group `json:"groups"`
}

// Over returns how many tasks of g are over.
func (g Group) Over() int {
	return g.ByStatus[task.Completed] + g.ByStatus[task.Failed] + g.ByStatus[task.Stopped]
}

// Status returns the status of a group from the numbers of its tasks: pending until a task begins
// to run or ends, and running until all tasks are over. Then the status is failed if a task
// failed, or else stopped if a task was stopped, or else completed.
func Status(n overview.Counts) task.Phase {
	active := n[task.Pending] + n[task.Running]
	over := n[task.Completed] + n[task.Failed] + n[task.Stopped]
	switch {
	case n[task.Running] > 0, active > 0 && over > 0:
		return task.Running
	case active > 0:
		return task.Pending
	case n[task.Failed] > 0:
		return task.Failed
	case n[task.Stopped] > 0:
		return task.Stopped
	}
	return task.Completed
}
