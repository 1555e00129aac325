// Package exit defines the exit codes of the CLI. It is a package because the internal
// packages, which cannot import package main, select exit codes too.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes. Codes from 100 say how a task ended, or that a task or volume does not
// exist; for several tasks, the highest code is used.
const (
	Failure         = 1 // the command failed
	Misuse          = 2 // the command line is invalid
	TaskFailed      = 100
	TaskNotFinished = 101
	NotFound        = 102
	TaskStopped     = 103
	Interrupted     = 130 // as a shell reports SIGINT
	Unreached       = 255 // a session in a task broke off or did not begin, as ssh reports it
)

// An Error is an error that selects the exit code.
type Error struct {
	Code int
	Err  error // nil if the message is already printed
}

func (e *Error) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether err selects the exit code.
func Is(err error, code int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// Silent returns an error with the exit code and without a message.
func Silent(code int) error { return &Error{Code: code} }

// Usagef returns the error of an invalid command line.
func Usagef(format string, args ...any) error {
	return &Error{Misuse, fmt.Errorf(format, args...)}
}
