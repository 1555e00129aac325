package task

import "k8s-cli/pkg/task/problem"

// The kinds of errors, by who can resolve them. Every other error is a fault of the server.
// Package problem divides most kinds into reasons.
const (
	ErrUnreadable   = problem.Malformed    // the caller: the body is not JSON, YAML or UTF-8
	ErrInvalid      = problem.Invalid      // the caller, by changing the request
	ErrUnauthorized = problem.Unauthorized // the caller, by authenticating
	ErrForbidden    = problem.Forbidden    // an administrator
	ErrNotFound     = problem.NotFound     // nobody: the user has no such object
	ErrConflict     = problem.Conflict     // the caller: the request conflicts with another object or request
	ErrGone         = problem.Gone         // the caller, by starting from the beginning: the requested data has expired
	ErrTooLarge     = problem.TooLarge     // the caller, by sending less
	ErrTooMany      = problem.LimitReached // the caller, by waiting
	ErrUnavailable  = problem.Unavailable  // nobody at present: a dependency is unavailable or full
)

// Error returns an error with the given kind and message.
func Error(kind problem.Reason, text string) error { return problem.New(kind, text) }

// ErrNoTask returns the error for a task that the user does not have.
func ErrNoTask(id string) error { return Error(problem.TaskNotFound, "Task "+cutID(id)+" not found") }

// ErrNoVolume returns the error for a volume that the user does not have.
func ErrNoVolume(id string) error {
	return Error(problem.VolumeNotFound, "Volume "+cutID(id)+" not found")
}

// cutID shortens an id from a request, so that a long text does not fill the response.
func cutID(id string) string {
	if len(id) > maxLabel {
		return id[:maxLabel] + "..."
	}
	return id
}
