package api

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A script is a Subscription that delivers the events of a test.
type script struct {
	told chan []task.Event
	err  chan error
	left chan struct{} // closed when the server ends the subscription
}

func newScript() *script {
	return &script{told: make(chan []task.Event, 8), err: make(chan error, 1), left: make(chan struct{})}
}

func (s *script) At() task.EventID { return task.EventID{Seq: 7} }

func (s *script) Next(ctx context.Context) ([]task.Event, error) {
	select {
	case events := <-s.told:
		return events, nil
	case err := <-s.err:
		return nil, err
	case <-ctx.Done():
		if _, timed := ctx.Deadline(); timed && ctx.Err() == context.Canceled {
			close(s.left)
		}
		return nil, ctx.Err()
	}
}

func event(id string, seq uint64, phase task.Phase) task.Event {
	return task.Event{ID: task.EventID{Seq: seq, N: 1}, Type: task.EventPhase, Kind: task.KindTask, TaskID: id, User: "ann", Status: string(phase)}
}

func serveScript(t *testing.T, s *script) *served {
	t.Helper()
	return serve(t, &fake{listen: func(task.EventQuery) (task.Subscription, error) { return s, nil }})
}

// open opens a stream of events.
func (s *served) open(path string, headers ...string) (*http.Response, *bufio.Reader) {
	s.t.Helper()
	response, err := s.do("GET", path, nil, append(headers, "Accept", typeEvents)...)
	must.Succeed(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response, bufio.NewReader(response.Body)
}

// wantText reads exactly want from a stream, and skips heartbeats.
func wantText(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	for said := ""; said != want; {
		line, err := r.ReadString('\n')
		if said += line; err != nil || !strings.HasPrefix(want, said) && !strings.HasPrefix(heartbeat, said) {
			t.Fatalf("the stream says %q (%v), want %q", said, err, want)
		}
		if said == heartbeat {
			said = ""
		}
	}
}

const (
	heartbeat = ": alive\nid: 7.0\n\n"
	beginning = "retry: 1000\n" + heartbeat
)

func TestAStreamOfEvents(t *testing.T) {
	t.Parallel()
	told := newScript()
	s := serveScript(t, told)
	response, stream := s.open("/events?all_users=true")
	wantText(t, stream, beginning)
	if got := response.Header.Get("Content-Type"); got != typeEvents {
		t.Errorf("content type %q", got)
	}
	told.told <- []task.Event{event("a", 2, task.Running), event("b", 3, task.Completed)}
	const body = `"time":"0001-01-01T00:00:00Z","type":"phase","kind":"task","task_id":`
	wantText(t, stream, "id: 2.1\ndata: {\"id\":\"2.1\","+body+`"a","name":"","user":"ann","status":"running"}`+"\n\n"+
		"id: 3.1\ndata: {\"id\":\"3.1\","+body+`"b","name":"","user":"ann","status":"completed"}`+"\n\n")
	unplaced := event("a", 0, task.Pending)
	unplaced.ID = task.EventID{}
	told.told <- []task.Event{unplaced}
	wantText(t, stream, "data: {"+body+`"a","name":"","user":"ann","status":"pending"}`+"\n\n")
	_ = response.Body.Close()
	<-told.left // the server ends the subscription of a listener who has left
}

func TestAStreamOfOneTaskEndsWithIt(t *testing.T) {
	t.Parallel()
	told := newScript()
	s := serveScript(t, told)
	_, stream := s.open("/tasks/a/events")
	told.told <- []task.Event{event("a", 2, task.Running)}
	told.told <- []task.Event{event("a", 3, task.Failed)}
	rest, err := io.ReadAll(stream)
	if err != nil || strings.Count(string(rest), "data: ") != 2 || !strings.HasSuffix(string(rest), "\"status\":\"failed\"}\n\n") {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestWhereAStreamBegins(t *testing.T) {
	t.Parallel()
	over := event("a", 9, task.Completed)
	s := serve(t, &fake{listen: func(task.EventQuery) (task.Subscription, error) { return newScript(), nil }})
	for _, tt := range []struct {
		name, path, header string
		told               []task.Event
		code               int
		want               task.EventQuery
	}{
		{"of all, now", "/events", "", nil, 200, task.EventQuery{User: "ann", Now: true}},
		{"of all, from the beginning", "/events?last_event_id=0", "", nil, 200, task.EventQuery{User: "ann"}},
		{"of all, behind one", "/events", "4.2", nil, 200, task.EventQuery{User: "ann", After: task.EventID{Seq: 4, N: 2}}},
		{"the header is newer than the URL", "/events?last_event_id=1.1", "4.2", nil, 200, task.EventQuery{User: "ann", After: task.EventID{Seq: 4, N: 2}}},
		{"of a task, from its beginning", "/tasks/a/events", "", []task.Event{over}, 200, task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindTask, ID: "a"}}},
		{"of a task that is over, before its end", "/tasks/a/events", "8.1", []task.Event{over}, 200, task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindTask, ID: "a"}, After: task.EventID{Seq: 8, N: 1}}},
		{"of a task that is over, behind its end", "/tasks/a/events", "9.1", []task.Event{over}, 204, task.EventQuery{}},
		{"of a volume", "/volumes/a/events", "", nil, 200, task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindVolume, ID: "a"}}},
		{"behind nothing", "/events", "yesterday", nil, 422, task.EventQuery{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.mu.Lock()
			s.events, s.wanted = tt.told, task.EventQuery{}
			s.mu.Unlock()
			var headers []string
			if tt.header != "" {
				headers = []string{lastEventHeader, tt.header}
			}
			response, _ := s.open(tt.path, headers...)
			s.mu.Lock()
			defer s.mu.Unlock()
			if response.StatusCode != tt.code || s.wanted != tt.want {
				t.Errorf("%d, asked for %+v; want %d, %+v", response.StatusCode, s.wanted, tt.code, tt.want)
			}
		})
	}
}

func TestAListOfEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{eventList: task.Answer{Body: []byte(`{"events":[]}`), ETag: `W/"1"`, Next: "3.1"}})
	a := s.send("GET", "/events?limit=1&last_event_id=2.1&all_users=true", "")
	if a.StatusCode != 200 || a.body != `{"events":[]}` || a.Header.Get(nextHeader) != "3.1" || s.limit != 1 ||
		s.wanted != (task.EventQuery{User: "ann", AllUsers: true, After: task.EventID{Seq: 2, N: 1}}) {
		t.Errorf("%d %s, asked for %d of %+v", a.StatusCode, a.body, s.limit, s.wanted)
	}
	s.send("GET", "/events?limit=1000", "").wantOK(t)
	s.send("GET", "/events?limit=0", "").wantError(t, 422, "limit")
	s.send("GET", "/events?limit=1001", "").wantError(t, 422, "limit")
	s.send("GET", "/events?all_users=maybe", "").wantError(t, 422, "all_users")
	s.send("GET", "/events", "", userHeader, "-").wantError(t, 401, userHeader)
	s.send("POST", "/events", "").wantError(t, 405, "not allowed")
}

func TestEventsOfUnknownObjects(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	s.send("GET", "/tasks/x/events", "").wantError(t, 404, "Task x not found")
	s.send("GET", "/tasks/x/events", "", "Accept", typeEvents).wantError(t, 404, "Task x not found")
	s.send("GET", "/volumes/x/events", "").wantError(t, 404, "Volume x not found")
}

func TestEventsThatAreTooOld(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{listen: func(task.EventQuery) (task.Subscription, error) {
		return nil, problem.New(problem.Gone, "too long ago")
	}})
	s.send("GET", "/events", "", "Accept", typeEvents, lastEventHeader, "1.1").wantError(t, 410, "too long ago")
}

// TestAListenerThatTakesNothing checks that a listener that reads nothing is disconnected.
// The amount of data that is written before is bounded by the buffers of the connection.
func TestAListenerThatTakesNothing(t *testing.T) {
	t.Parallel()
	told := newScript()
	s := serveScript(t, told)
	conn := s.dial()
	if _, err := io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nAccept: "+typeEvents+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	big := event("a", 2, task.Running)
	big.Message = strings.Repeat("x", 1<<20)
	sent := 0
	for stuck := time.NewTimer(time.Second); ; sent++ {
		select {
		case told.told <- []task.Event{big}:
			stuck.Reset(time.Second)
			if sent > 1000 {
				t.Fatal("the server keeps for it whatever comes")
			}
			continue
		case <-stuck.C:
		}
		break
	}
	told.err <- problem.New(problem.Gone, "too slow")
	_ = conn.Close()
}
