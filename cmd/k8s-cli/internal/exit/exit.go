// Package exit has the exit codes of the CLI, and the error that decides the code.
package exit

import "fmt"

// The exit codes. Those from 100 say how a task ended; of several tasks, the
// highest counts.
const (
	Failure         = 1 // the command failed
	Misuse          = 2 // the command line makes no sense
	TaskFailed      = 100
	TaskNotFinished = 101
	TaskNotFound    = 102
	TaskStopped     = 103
)

// An Error is an error that decides the exit code.
type Error struct {
	Code int
	Err  error // nil if everything has been said
}

func (e *Error) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Silent returns the error of a command that has said everything.
func Silent(code int) error { return &Error{Code: code} }

// Usagef returns the error of a command line that makes no sense.
func Usagef(format string, args ...any) error {
	return &Error{Misuse, fmt.Errorf(format, args...)}
}
