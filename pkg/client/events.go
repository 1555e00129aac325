package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
)

const (
	listenPause = time.Second      // pause before a broken stream reconnects
	listenQuiet = 45 * time.Second // silence after which the client treats a stream as broken
	maxEvent    = 1 << 20          // largest event, in bytes
	eventPage   = 1000             // events in one response
)

// An EventSource selects the object or the user whose events to return.
type EventSource struct {
	Key      task.Key // one task or volume; the zero Key means all objects of the user
	AllUsers bool     // all objects of all users
	Group    string   // only the tasks of this group of the user; empty means all objects
	// id of an event: only later events. Empty means all events of one object, or only new
	// events of several objects.
	After string
}

// query returns the parameters that select the events.
func (s EventSource) query() url.Values {
	q := url.Values{}
	if s.AllUsers {
		q.Set("all_users", "true")
	}
	if s.Group != "" {
		q.Set(group.Param, s.Group)
	}
	return q
}

func (s EventSource) path() (string, error) {
	if s.Key == (task.Key{}) {
		return "/events", nil
	}
	return objectPath(s.Key.Kind, s.Key.ID, "events")
}

// Events returns the events so far, oldest first. The error is of kind problem.Gone if the
// server no longer has all events after s.After.
func (c *Client) Events(ctx context.Context, s EventSource) (all []task.Event, err error) {
	path, err := s.path()
	if err != nil {
		return nil, err
	}
	for {
		query := s.query()
		query.Set("limit", strconv.Itoa(eventPage))
		if s.After != "" {
			query.Set("last_event_id", s.After)
		}
		var page task.EventList
		if err := c.do(ctx, request{method: http.MethodGet, path: path, query: query}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if len(page.Events) < eventPage {
			return all, nil
		}
		s.After = page.Events[len(page.Events)-1].ID.String()
	}
}

// Subscribe opens a stream of events. The stream of one object begins with the first event of
// the object; other streams begin with new events. If s.After is set, the stream begins
// with the event after s.After. The stream contains every event that happens after Subscribe
// returns. The stream lasts until ctx ends or until the caller calls Close.
func (c *Client) Subscribe(ctx context.Context, s EventSource) (*EventStream, error) {
	path, err := s.path()
	if err != nil {
		return nil, err
	}
	e := &EventStream{client: c, ctx: ctx, of: s.Key, request: request{
		method: http.MethodGet, path: path, query: s.query(), accept: "text/event-stream", last: s.After, stream: true,
	}}
	err = e.connect()
	if _, again := c.repeats(e.request, err, 0); again {
		err = e.resume()
	}
	return e, err
}

// An EventStream resumes after a broken connection, on any pod of the server. An
// EventStream is not safe for concurrent use.
type EventStream struct {
	client  *Client
	ctx     context.Context //nolint:containedctx // of the request, as that of an http.Response
	request request
	of      task.Key // object of the stream; zero for a stream of several objects
	over    bool     // the object of the stream is over

	body  io.Closer // nil while the stream has no connection
	lines *bufio.Scanner
}

// Next waits for the next event. Next returns io.EOF after the last event of an object that
// is over. The error is of kind problem.Gone if events were missed during an interruption,
// and of kind problem.Unavailable if the stream cannot reconnect.
func (e *EventStream) Next() (task.Event, error) {
	for !e.over {
		if e.body == nil {
			if err := e.resume(); err != nil {
				return task.Event{}, err
			}
		}
		data, ok := e.read()
		if !ok {
			e.Close()
			continue
		}
		var event task.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return event, fmt.Errorf("an event of %s is not as documented: %w", e.client.url, err)
		}
		if one := (e.of != task.Key{}); one {
			if err := e.client.checkAnswer(string(e.of.Kind), e.of.ID, event.Key().ID); err != nil {
				return event, err
			}
			e.over = event.Over()
		}
		return event, nil
	}
	return task.Event{}, io.EOF
}

// Close closes the stream.
func (e *EventStream) Close() {
	if e.body != nil {
		_ = e.body.Close()
		e.body = nil
	}
}

// resume reconnects and retries until the client's timeout.
func (e *EventStream) resume() error {
	began := time.Now()
	for {
		select {
		case <-time.After(e.client.jittered(e.client.pause)):
		case <-e.ctx.Done():
			return e.ctx.Err()
		}
		err := e.connect()
		if err == nil || errors.Is(err, io.EOF) || !errors.Is(err, problem.Unavailable) || time.Since(began) > e.client.timeout {
			return err
		}
	}
}

func (e *EventStream) connect() error {
	response, body, err := e.client.stream(e.ctx, e.request, listenQuiet)
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusNoContent {
		_ = body.Close()
		return io.EOF
	}
	e.body, e.lines = body, bufio.NewScanner(body)
	e.lines.Buffer(nil, maxEvent)
	return nil
}

// read returns the data of the next event of the connection, by the rules of the HTML
// standard, section 9.2.6. ok is false if the connection broke.
func (e *EventStream) read() (data string, ok bool) {
	id := ""
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data += value
		case e.lines.Text() != "":
		default:
			if id != "" {
				e.request.last, id = id, ""
			}
			if data != "" {
				return data, true
			}
		}
	}
	return "", false
}
