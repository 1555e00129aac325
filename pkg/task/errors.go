package task

import "errors"

// The kinds of errors, by who can resolve them. Every other error is a fault of the server.
var (
	ErrUnreadable   = errors.New("unreadable")   // the caller: the body is not JSON, YAML or UTF-8
	ErrInvalid      = errors.New("invalid")      // the caller, by changing the request
	ErrUnauthorized = errors.New("unauthorized") // the caller, by authenticating
	ErrForbidden    = errors.New("forbidden")    // an administrator
	ErrNotFound     = errors.New("not found")    // nobody: the user has no such object
	ErrConflict     = errors.New("conflict")     // the caller: the request conflicts with another object or request
	ErrGone         = errors.New("gone")         // the caller, by starting from the beginning: the requested data has expired
	ErrTooLarge     = errors.New("too large")    // the caller, by sending less
	ErrTooMany      = errors.New("too many")     // the caller, by waiting
	ErrUnavailable  = errors.New("unavailable")  // nobody at present: a dependency is unavailable or full
)

// kindError is a message with a kind. errors.Is finds the kind; the message does not
// contain it.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

// Error returns an error with the given kind and message.
func Error(kind error, text string) error { return &kindError{kind, text} }

// ErrNoTask returns the error for a task that the user does not have.
func ErrNoTask(id string) error { return Error(ErrNotFound, "Task "+cutID(id)+" not found") }

// ErrNoVolume returns the error for a volume that the user does not have.
func ErrNoVolume(id string) error { return Error(ErrNotFound, "Volume "+cutID(id)+" not found") }

// cutID shortens an id from a request, so that a long text does not fill the response.
func cutID(id string) string {
	if len(id) > maxLabel {
		return id[:maxLabel] + "..."
	}
	return id
}
