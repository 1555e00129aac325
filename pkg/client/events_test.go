package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A stage serves requests with one handler after the other, and records the Last-Event-ID
// of each request.
type stage struct {
	mu     sync.Mutex
	acts   []http.HandlerFunc
	lasts  []string
	path   string
	accept string
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.lasts = append(s.lasts, r.Header.Get("Last-Event-ID"))
	s.path, s.accept = r.URL.String(), r.Header.Get("Accept")
	act := s.acts[0]
	s.acts = s.acts[1:]
	s.mu.Unlock()
	act(w, r)
}

func happened(seq uint64, phase task.Phase) task.Event {
	return task.Event{ID: task.EventID{Seq: seq, N: 1}, Kind: task.KindTask, TaskID: "a", Status: string(phase)}
}

// says returns a handler that sends a heartbeat and events and then breaks the connection.
func says(first string, events ...task.Event) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "retry: 1000\n: alive\nid: %s\n\n", first)
		for _, e := range events {
			raw, _ := json.Marshal(e)
			if e.ID != (task.EventID{}) {
				fmt.Fprintf(w, "id: %s\n", e.ID)
			}
			fmt.Fprintf(w, "data: %s\n\n", raw)
		}
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func play(t *testing.T, acts ...http.HandlerFunc) (*stage, *Client) {
	t.Helper()
	s := &stage{acts: acts}
	c := serve(t, s.ServeHTTP)
	c.pause = 1
	return s, c
}

// rest reads a stream to its end.
func rest(s *EventStream) (ids []string, err error) {
	for {
		e, err := s.Next()
		if err != nil {
			return ids, err
		}
		ids = append(ids, e.ID.String())
	}
}

func TestStreamOfEventsResumes(t *testing.T) {
	progress := happened(0, task.Pending)
	progress.ID = task.EventID{}
	s, c := play(t,
		says("0.0", happened(2, task.Pending), progress),
		answering(503, ""),
		says("7.0"),
		says("7.0", happened(9, task.Running), happened(10, task.Completed)),
	)
	stream, err := c.Subscribe(t.Context(), EventSource{Key: task.Key{Kind: task.KindTask, ID: "a"}})
	must.Succeed(t, err)
	ids, err := rest(stream)
	if want := []string{"2.1", "0.0", "9.1", "10.1"}; !errors.Is(err, io.EOF) || !slices.Equal(ids, want) {
		t.Errorf("heard %v, %v, want %v", ids, err, want)
	}
	if want := []string{"", "2.1", "2.1", "7.0"}; !slices.Equal(s.lasts, want) || s.path != "/tasks/a/events" || s.accept != "text/event-stream" {
		t.Errorf("asked %s for %s behind %q, want %q", s.path, s.accept, s.lasts, want)
	}
}

func TestStreamsOfEventsEndForGood(t *testing.T) {
	for _, tt := range []struct {
		name string
		acts []http.HandlerFunc
		want error
	}{
		{"the object is over", []http.HandlerFunc{says("1.0"), answering(204, "")}, io.EOF},
		{"it was away for too long", []http.HandlerFunc{says("1.0"), answering(410, "")}, problem.Gone},
		{"the task is forgotten", []http.HandlerFunc{says("1.0"), answering(404, "")}, problem.NotFound},
		{"the user is not known any more", []http.HandlerFunc{says("1.0"), answering(401, "")}, problem.Unauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := play(t, tt.acts...)
			stream, err := c.Subscribe(t.Context(), EventSource{AllUsers: true, After: "1.0"})
			must.Succeed(t, err)
			if ids, err := rest(stream); !errors.Is(err, tt.want) || len(ids) > 0 {
				t.Errorf("heard %v, %v", ids, err)
			}
		})
	}
	_, c := play(t, answering(404, ""))
	if _, err := c.Subscribe(t.Context(), EventSource{}); !errors.Is(err, problem.NotFound) {
		t.Errorf("a stream that does not begin: %v", err)
	}
}

func TestListsOfEventsAreReadPageByPage(t *testing.T) {
	page := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			from := task.EventID{}
			if last := r.FormValue("last_event_id"); last != "" {
				from, _ = task.ParseEventID(last)
			}
			var l task.EventList
			for i := range n {
				l.Events = append(l.Events, happened(from.Seq+uint64(i)+1, task.Running)) //nolint:gosec // small
			}
			_ = json.NewEncoder(w).Encode(l)
		}
	}
	s, c := play(t, page(eventPage), page(eventPage), page(3))
	all, err := c.Events(t.Context(), EventSource{AllUsers: true})
	if err != nil || len(all) != 2*eventPage+3 || all[len(all)-1].ID.Seq != 2*eventPage+3 {
		t.Errorf("%d events, %v", len(all), err)
	}
	asked, err := url.Parse(s.path)
	if err != nil || asked.Path != "/events" || asked.Query().Get("all_users") != "true" {
		t.Errorf("asked for %s", s.path)
	}
}
