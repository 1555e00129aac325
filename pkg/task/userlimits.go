package task

import (
	"fmt"
	"time"
)

// UserLimits are the most that one user may have at once on a server; 0 means no
// limit.
type UserLimits struct {
	Active      int     `json:"active_tasks,omitempty"`  // that are not over
	Waiting     int     `json:"waiting_tasks,omitempty"` // of these, whose Jobs are still to be created
	SubmitRate  float64 `json:"submits_per_second,omitempty"`
	SubmitBurst int     `json:"submit_burst,omitempty"` // at once, before the rate counts
	LogStreams  int     `json:"log_streams,omitempty"`  // open on one pod
	UploadBytes int64   `json:"upload_bytes,omitempty"` // of all archives
	Nodes       int     `json:"nodes_per_task,omitempty"`
}

// Usage is what one user has of what is limited.
type Usage struct {
	Active      int   `json:"active_tasks"`
	Waiting     int   `json:"waiting_tasks"`
	LogStreams  int   `json:"log_streams"`
	UploadBytes int64 `json:"upload_bytes"`
}

// A limitError says that a user has reached a limit, and when to try again.
type limitError struct {
	text  string
	after time.Duration
}

func (e *limitError) Error() string             { return e.text }
func (e *limitError) Unwrap() error             { return ErrTooMany }
func (e *limitError) RetryAfter() time.Duration { return e.after }

// ErrLimit says that a user has reached a limit of the server. It is of kind
// ErrTooMany, and may pass after a time.
func ErrLimit(after time.Duration, format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...), after}
}

// Sentences say each limit that a user has, and how much of it is taken. What one
// task may have is not among them.
func (l UserLimits) Sentences(u Usage) (all []string) {
	if l.Active > 0 {
		all = append(all, fmt.Sprintf("%d active tasks (%d in use)", l.Active, u.Active))
	}
	if l.Waiting > 0 {
		all = append(all, fmt.Sprintf("%d tasks without Jobs (%d in use)", l.Waiting, u.Waiting))
	}
	if l.SubmitRate > 0 {
		all = append(all, fmt.Sprintf("%g submissions per second, bursts of up to %d", l.SubmitRate, l.SubmitBurst))
	}
	if l.LogStreams > 0 {
		all = append(all, fmt.Sprintf("%d log streams (%d open)", l.LogStreams, u.LogStreams))
	}
	if l.UploadBytes > 0 {
		all = append(all, fmt.Sprintf("%s of uploads (%s in use)", SizeText(l.UploadBytes), SizeText(u.UploadBytes)))
	}
	return all
}
