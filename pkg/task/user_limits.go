package task

import (
	"fmt"
	"time"

	"k8s-cli/pkg/task/problem"
)

// UserLimits bounds what one user may have at once on a server; 0 means no limit.
type UserLimits struct {
	Active      int     `json:"active_tasks,omitempty"`  // tasks that are not over
	Waiting     int     `json:"waiting_tasks,omitempty"` // active tasks whose Jobs are not created yet
	SubmitRate  float64 `json:"submits_per_second,omitempty"`
	SubmitBurst int     `json:"submit_burst,omitempty"` // submissions at once before the rate applies
	LogStreams  int     `json:"log_streams,omitempty"`  // open log streams on one pod
	UploadBytes int64   `json:"upload_bytes,omitempty"` // total size of all archives
	Nodes       int     `json:"nodes_per_task,omitempty"`
}

// Usage is what one user has, for each limit.
type Usage struct {
	Active      int   `json:"active_tasks"`
	Waiting     int   `json:"waiting_tasks"`
	LogStreams  int   `json:"log_streams"`
	UploadBytes int64 `json:"upload_bytes"`
}

// A limitError says that a user has reached a limit, and when to retry.
type limitError struct {
	text  string
	after time.Duration
}

func (e *limitError) Error() string             { return e.text }
func (e *limitError) Unwrap() error             { return problem.LimitReached }
func (e *limitError) RetryAfter() time.Duration { return e.after }

// ErrLimit returns an error of kind problem.LimitReached: the user has reached a limit of the server,
// and may retry after a time.
func ErrLimit(after time.Duration, format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...), after}
}
