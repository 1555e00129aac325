package group

import (
	"fmt"
	"strconv"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// The names of the query parameters, and of the fields of an item of a batch, that contain the
// limits of a group.
const (
	MaxParallelParam = "max_parallel"
	FailFastParam    = "fail_fast"
)

// A Membership says to which group a task belongs, and how the group limits its tasks. The zero
// Membership means no group.
type Membership struct {
	Group       string `json:"group,omitempty"`
	MaxParallel int    `json:"max_parallel,omitempty"` // the task waits while so many tasks of the group are active; 0 means no limit
	FailFast    bool   `json:"fail_fast,omitempty"`    // if the task fails, the other tasks of the group are stopped
}

// Or returns m with the group of base if m names no group. Without any limit and name, m is base.
func (m Membership) Or(base Membership) Membership {
	if m == (Membership{}) {
		return base
	}
	if m.Group == "" {
		m.Group = base.Group
	}
	return m
}

// Check returns an error of kind problem.Invalid, which names the field, for an invalid
// Membership.
func (m Membership) Check() error {
	switch {
	case m.Group != "":
		if err := CheckName(m.Group); err != nil {
			return problem.New(problem.Invalid, Param+": "+err.Error())
		}
	case m.MaxParallel != 0:
		return limitWithoutGroup(MaxParallelParam)
	case m.FailFast:
		return limitWithoutGroup(FailFastParam)
	}
	return nil
}

func limitWithoutGroup(field string) error {
	return problem.New(problem.Invalid, field+": the task belongs to no group; name a group in group, or omit "+field)
}

// ParseMaxParallel returns the value of MaxParallelParam. An empty text means 0.
func ParseMaxParallel(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, problem.New(problem.Invalid, fmt.Sprintf("%s: %s is not a number of tasks, from 1", MaxParallelParam, task.Quote(text)))
	}
	return int(n), nil
}
