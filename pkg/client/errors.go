package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// An Error is a response with a status other than 2xx, or a missing response. Error wraps
// the kind that corresponds to Code, for example problem.NotFound.
type Error struct {
	Code       int           // HTTP status; 0 if there was no response
	Detail     string        // message of the server, or of the client if the server sent none
	Reason     string        // why the server rejected the request, in one word; see package problem
	Field      string        // field, parameter or header that is wrong; empty if the error is about the whole request
	RetryAfter time.Duration // value of the header Retry-After; 0 if absent
	RequestID  string        // id of the request in the log of the server; empty if absent
	cause      error
}

func (e *Error) Error() string { return e.Detail }

// Unwrap returns the kind of e and the cause of e, as far as they exist.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{kindOf(e.Code), e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// A RejectedError is the error of a batch in which the server rejected tasks. The server has stored
// the other tasks.
type RejectedError struct {
	Items map[int]*Error // by index in the batch
	Total int            // tasks in the batch
}

// Error counts tasks from 1, as the server does.
func (e *RejectedError) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(e.Items)))
	return fmt.Sprintf("the server rejected %d of %d tasks; task %d: %v", len(e.Items), e.Total, first+1, e.Items[first])
}

// Unwrap returns the errors of the rejected tasks, in the order of the batch.
func (e *RejectedError) Unwrap() (all []error) {
	for _, i := range slices.Sorted(maps.Keys(e.Items)) {
		all = append(all, e.Items[i])
	}
	return all
}

// rejections returns a *RejectedError if results contain rejected tasks, or else nil.
func rejections(results []task.BatchResult) error {
	items := map[int]*Error{}
	for i, r := range results {
		if r.Code != 0 {
			items[i] = &Error{Code: r.Code, Detail: r.Detail, Reason: r.Reason, Field: r.Field}
		}
	}
	if len(items) == 0 {
		return nil
	}
	return &RejectedError{items, len(results)}
}

// kindOf returns the kind of error for an HTTP status, or nil if the status is a fault of
// the server.
func kindOf(code int) error {
	switch code {
	case http.StatusBadRequest:
		return problem.Malformed
	case http.StatusUnauthorized:
		return problem.Unauthorized
	case http.StatusForbidden:
		return problem.Forbidden
	case http.StatusNotFound:
		return problem.NotFound
	case http.StatusConflict:
		return problem.Conflict
	case http.StatusGone:
		return problem.Gone
	case http.StatusRequestEntityTooLarge:
		return problem.TooLarge
	case http.StatusUnprocessableEntity:
		return problem.Invalid
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 0:
		return problem.Unavailable
	}
	return nil
}

// ErrWrongAnswer is the kind of error of an answer that is about another object than the request.
var ErrWrongAnswer = errors.New("wrong answer")

// checkAnswer returns an error if an answer is about another object than the request. kind is the
// kind of the object.
func (c *Client) checkAnswer(kind, asked, got string) error {
	if got == asked {
		return nil
	}
	return fmt.Errorf("%w: the API server at %s was asked about the %s %q and answered about %q; check the proxies before the server", ErrWrongAnswer, c.url, kind, asked, got)
}

// maxDetail is larger than any message of the server and bounds the error page of a proxy.
const maxDetail = 64 << 10

// refusal returns the error for a response with a status other than 2xx.
func (c *Client) refusal(response *http.Response) error {
	var body task.Detail
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxDetail))
	_ = json.Unmarshal(data, &body) // an error page of a proxy has no detail
	return &Error{
		Code:       response.StatusCode,
		Detail:     cmp.Or(c.redirection(response), body.Detail, fmt.Sprintf("the API server at %s answered %s", c.url, response.Status)),
		Reason:     body.Reason,
		Field:      body.Field,
		RetryAfter: retryAfter(response.Header.Get("Retry-After")),
		RequestID:  response.Header.Get("X-Request-Id"),
	}
}

// retryAfter parses the header Retry-After, which contains seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
