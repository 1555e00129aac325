package task

import "errors"

// The kinds of error the launcher tells apart, by who can do something about
// them. Every other error is a fault of the server.
var (
	ErrUnreadable   = errors.New("unreadable")   // the caller: the body is not JSON, YAML or UTF-8
	ErrInvalid      = errors.New("invalid")      // the caller, by changing the request
	ErrUnauthorized = errors.New("unauthorized") // the caller, by saying who asks
	ErrForbidden    = errors.New("forbidden")    // an administrator
	ErrNotFound     = errors.New("not found")    // nobody: this user has no such thing
	ErrConflict     = errors.New("conflict")     // the caller: something else stands in the way
	ErrGone         = errors.New("gone")         // the caller, by beginning again: what it had is not kept any more
	ErrTooLarge     = errors.New("too large")    // the caller, by sending less
	ErrTooMany      = errors.New("too many")     // the caller, by waiting
	ErrUnavailable  = errors.New("unavailable")  // nobody now: a dependency is away or full
)

// kindError is a sentence of one of the kinds above. The kind is for
// errors.Is, the sentence alone is for people.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

// Error returns an error that reads as text and is of the given kind.
func Error(kind error, text string) error { return &kindError{kind, text} }

// ErrNoTask says that the user has no task of this id.
func ErrNoTask(id string) error { return Error(ErrNotFound, "Task "+cutID(id)+" not found") }

// ErrNoVolume says that the user has no volume of this id.
func ErrNoVolume(id string) error { return Error(ErrNotFound, "Volume "+cutID(id)+" not found") }

// cutID keeps what a caller sends in place of an id from filling the answer.
func cutID(id string) string {
	if len(id) > maxLabel {
		return id[:maxLabel] + "..."
	}
	return id
}
