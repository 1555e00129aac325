package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s-cli/pkg/task"
)

// An Error is an answer that is no success, or the lack of any answer. It is of
// the kind (task.ErrNotFound and so on) that its code stands for.
type Error struct {
	Code       int           // of HTTP; 0 if no answer came
	Detail     string        // the server's own sentence, if it gave one
	RetryAfter time.Duration // how long the server asks to wait; 0 if it does not say
	RequestID  string        // under which the server logged its fault; empty if it does not say
	cause      error
}

func (e *Error) Error() string { return e.Detail }

// Unwrap returns the kind of e and what caused it, as far as there are any.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{kindOf(e.Code), e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// kindOf returns what a code of HTTP means, nil if it is the server's fault.
func kindOf(code int) error {
	switch code {
	case http.StatusBadRequest:
		return task.ErrUnreadable
	case http.StatusUnauthorized:
		return task.ErrUnauthorized
	case http.StatusForbidden:
		return task.ErrForbidden
	case http.StatusNotFound:
		return task.ErrNotFound
	case http.StatusConflict:
		return task.ErrConflict
	case http.StatusGone:
		return task.ErrGone
	case http.StatusRequestEntityTooLarge:
		return task.ErrTooLarge
	case http.StatusUnprocessableEntity:
		return task.ErrInvalid
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 0:
		return task.ErrUnavailable
	}
	return nil
}

// maxDetail is more than any sentence of the server and less than a page that
// something in between might answer with.
const maxDetail = 64 << 10

// refusal turns an answer that is no success into an error.
func (c *Client) refusal(response *http.Response) error {
	var body task.Detail
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxDetail))
	_ = json.Unmarshal(data, &body) // a page of a proxy has no detail
	return &Error{
		Code:       response.StatusCode,
		Detail:     cmp.Or(c.redirection(response), body.Detail, fmt.Sprintf("the API server at %s answered %s", c.url, response.Status)),
		RetryAfter: retryAfter(response.Header.Get("Retry-After")),
		RequestID:  response.Header.Get("X-Request-Id"),
	}
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
