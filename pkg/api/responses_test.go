package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestBodiesOfAnswers(t *testing.T) {
	t.Parallel()
	f := &fake{verdict: func(c task.Command) (task.Result, error) {
		switch {
		case c.Submit != nil:
			return task.Result{ID: "abc12345"}, nil
		case c.Create != nil:
			return task.Result{ID: "deadbeef"}, nil
		}
		return task.Result{ID: "x", Count: 5}, nil
	}}
	s := serve(t, f)
	for _, tt := range []struct{ request, body, want string }{
		{"GET /", "", `{"service":"k8s-cli-api","status":"ok"}`},
		{"GET /healthz", "", `{"status":"ok"}`},
		{"GET /readyz", "", `{"ready":true,"leading":false}`},
		{"POST /tasks/submit", `{"run":"true"}`, `{"task_id":"abc12345","status":"submitted","message":"Task submitted successfully with ID: abc12345"}`},
		{"POST /tasks/abc12345/stop", "", `{"task_id":"abc12345","status":"stopped","message":"Task abc12345 stopped successfully"}`},
		{"POST /tasks/stop", "", `{"count":5,"status":"stopped","message":"Stopped 5 tasks"}`},
		{"POST /tasks/stop?all_users=true", "", `{"count":5,"status":"stopped","message":"Stopped 5 tasks for all users"}`},
		{"POST /volumes/create", `{"name":"data","size":"1Gi"}`, `{"volume_id":"deadbeef","status":"created","message":"Volume created successfully with ID: deadbeef"}`},
		{"DELETE /volumes/deadbeef", "", `{"volume_id":"deadbeef","status":"deleted","message":"Volume deadbeef deleted successfully"}`},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		if a := s.send(method, path, tt.body); a.StatusCode != 200 || a.body != tt.want {
			t.Errorf("%s: %d %s, want %s", tt.request, a.StatusCode, a.body, tt.want)
		}
	}
}

// TestAServerThatEndsAsItBegins checks a stop between the start of Run and the moment at
// which the app has its listener.
func TestAServerThatEndsAsItBegins(t *testing.T) {
	t.Parallel()
	listener := must.Listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	s := f.newServer(Config{})
	down := make(chan struct{})
	s.app.Hooks().OnShutdown(func() error { close(down); return nil })
	s.app.Hooks().OnListen(func(fiber.ListenData) error {
		cancel()
		<-down
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestCommandsHaveTheParametersOfRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	s.send("POST", "/tasks/submit", `{"run":"true"}`, userHeader, "a@b", "Content-Type", "application/problem+json; charset=utf-8")
	s.send("POST", "/tasks/submit", "run: true\nresources: {image_id: 'docker:debian'}\n", "Content-Type", typeYAML+"; charset=utf-8")
	s.send("POST", "/tasks/abc/stop", "", userHeader, "a-b")
	s.send("POST", "/tasks/stop?all_users=1", "")
	s.send("DELETE", "/volumes/v", "")
	s.send("POST", "/volumes/create", `{"name":"data","size":"1Gi"}`)
	told := s.told()
	if len(told) != 6 {
		t.Fatalf("commands %v", told)
	}
	taskID, volumeID := regexp.MustCompile(`^[a-z0-9]{8}$`), regexp.MustCompile(`^[0-9a-f]{8}$`)
	for _, c := range told[:2] {
		if !taskID.MatchString(c.Submit.ID) {
			t.Errorf("task id %q", c.Submit.ID)
		}
		c.Submit.ID = ""
	}
	if !volumeID.MatchString(told[5].Create.ID) {
		t.Errorf("volume id %q", told[5].Create.ID)
	}
	told[5].Create.ID = ""
	want := []task.Command{
		{Submit: &task.Submit{User: "a@b", Task: task.Spec{Run: "true"}, Image: "python:3.13-slim"}},
		{Submit: &task.Submit{User: "ann", Task: task.Spec{Run: "true", Resources: task.Resources{ImageID: "docker:debian"}}, Image: "debian"}},
		{Stop: &task.Stop{User: "a-b", ID: "abc"}},
		{StopAll: &task.StopAll{User: "ann", AllUsers: true}},
		{Delete: &task.Delete{User: "ann", ID: "v"}},
		{Create: &task.Create{User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi"}}},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestRejectionsOfTheLog(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) {
		return task.Result{Rejection: task.RejectedNotFound}, nil
	}})
	s.send("POST", "/tasks/abc/stop", "").wantError(t, 404, "Task abc not found")
	s.send("DELETE", "/volumes/v", "").wantError(t, 404, "Volume v not found")
}

func TestStopsAndDeletionsHaveKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) {
		return task.Result{Rejection: task.RejectedKeyReuse}, nil
	}})
	for _, route := range []string{"POST /tasks/abc/stop", "POST /tasks/stop", "DELETE /volumes/v"} {
		method, path, _ := strings.Cut(route, " ")
		s.send(method, path, "", keyHeader, "a b").wantError(t, 422, "Idempotency-Key: must be one word")
		s.send(method, path, "", keyHeader, "k").wantError(t, 409, "Idempotency-Key: the key was already used with another body, for another request; use another key")
	}
	want := []task.Command{
		{Stop: &task.Stop{User: "ann", ID: "abc", Key: "k"}},
		{StopAll: &task.StopAll{User: "ann", Key: "k"}},
		{Delete: &task.Delete{User: "ann", ID: "v", Key: "k"}},
	}
	if diff := cmp.Diff(want, s.told()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestAVolumeInUseNamesTheTasks(t *testing.T) {
	t.Parallel()
	var users []string
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) {
		return task.Result{ID: "v", Rejection: task.RejectedInUse, Tasks: users}, nil
	}})
	for _, tt := range []struct {
		tasks []string
		want  string
	}{
		{[]string{"a"}, "Volume v is in use: a uses it; stop the tasks first, or force the deletion (?force=true, --force)"},
		{[]string{"a", "b"}, "a, b use it"},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, "a, b, c, d, e and 2 more use it"},
	} {
		users = tt.tasks
		s.send("DELETE", "/volumes/v", "").wantError(t, 409, tt.want)
	}
	f, mounts := &fake{}, submitted("ann", "a")
	mounts.Submit.Task.Volumes = map[string]string{"/data": "anns"}
	f.fold(t, created("ann", "anns"), mounts)
	s = serve(t, f)
	s.send("DELETE", "/volumes/anns", "").wantError(t, 409, "Volume anns is in use: a uses it")
	s.send("DELETE", "/volumes/v?force=true", "")
	s.send("DELETE", "/volumes/v?force=perhaps", "").wantError(t, 422, "force")
	s.send("DELETE", "/volumes/v?force=", "").wantError(t, 422, "force")
	if told := s.told(); len(told) != 1 || !told[0].Delete.Force {
		t.Errorf("commands %+v", told)
	}
}

func TestAnAnswerThatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		name, header string
		code         int
	}{
		{"no tag", "-", 200},
		{"the tag", `W/"TAG"`, 304},
		{"the tag, strong", `"TAG"`, 304},
		{"one of several", `W/"0", W/"TAG"`, 304},
		{"any", "*", 304},
		{"another", `W/"2TAG"`, 200},
		{"a part of it", `W/"TA"`, 200},
	} {
		for _, path := range []string{"/tasks/a", "/tasks", "/volumes/a", "/volumes"} {
			tag := s.send("GET", path, "").Header.Get("ETag")
			value := strings.TrimSuffix(strings.TrimPrefix(tag, `W/"`), `"`)
			a := s.send("GET", path, "", "If-None-Match", strings.NewReplacer("TAG", value, "TA", value[:len(value)-1]).Replace(tt.header))
			if a.StatusCode != tt.code || a.Header.Get("ETag") != tag || (a.body == "") != (tt.code == 304) {
				t.Errorf("%s, %s: %d, tag %s, body %q", tt.name, path, a.StatusCode, a.Header.Get("ETag"), a.body)
			}
		}
	}
}

func TestHeadersOfReads(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{lostFor: 3 * time.Second})
	a := s.send("GET", "/volumes?limit=1", "")
	for header, want := range map[string]string{
		"Content-Type": `^application/json$`, "ETag": `^W/".+"$`, nextHeader: `^[0-9]+$`, staleHeader: `^log; age=3$`,
	} {
		if got := a.Header.Get(header); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

func TestAStaleRefusalSaysSo(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{lostFor: 9 * time.Second})
	for _, path := range []string{"/tasks/none", "/tasks/none/logs"} {
		a := s.send("GET", path, "")
		a.wantError(t, 404, "Task none not found")
		if got := a.Header.Get(staleHeader); got != "log; age=9" {
			t.Errorf("%s: %s %q", path, staleHeader, got)
		}
	}
}

func TestHEADIsGETWithoutABody(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, path := range []string{"/", "/tasks", "/tasks/a", "/volumes", "/volumes/a", "/tasks/a/logs", "/nowhere"} {
		get, head := s.send("GET", path, ""), s.send("HEAD", path, "")
		if get.StatusCode != head.StatusCode || head.body != "" || get.Header.Get("Content-Type") != head.Header.Get("Content-Type") {
			t.Errorf("%s: GET %d %v, HEAD %d %v %q", path, get.StatusCode, get.Header, head.StatusCode, head.Header, head.body)
		}
	}
}

func TestAnswersAreCompressedIfAsked(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for n := range 100 {
		f.fold(t, submitted("ann", fmt.Sprint("t", n)))
	}
	s := serve(t, f)
	body := s.send("GET", "/tasks", "").body
	a := s.send("GET", "/tasks", "", "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(a.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("headers %v", a.Header)
	}
	unpacked, err := gzip.NewReader(strings.NewReader(a.body))
	must.Succeed(t, err)
	if got, err := io.ReadAll(unpacked); err != nil || string(got) != body || len(a.body) > len(body)/4 {
		t.Errorf("%d bytes, packed %d: %v", len(got), len(a.body), err)
	}
	if a := s.send("GET", "/tasks", ""); a.Header.Get("Content-Encoding") != "" || a.body != body {
		t.Errorf("nobody asked: %v", a.Header)
	}
}

func TestAServerThatStarts(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{health: Health{Leading: true, Degraded: []string{"starting"}}})
	ready := s.send("GET", "/readyz", "")
	if ready.StatusCode != 503 || ready.body != `{"ready":false,"leading":true,"degraded":["starting"],"detail":"starting","reason":"Starting"}` {
		t.Errorf("%d %s", ready.StatusCode, ready.body)
	}
	for _, path := range []string{"/tasks", "/tasks/a", "/volumes"} {
		a := s.send("GET", path, "")
		a.wantError(t, 503, "the server is starting or stopping")
		if a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	for _, path := range []string{"/", "/healthz"} {
		if a := s.send("GET", path, ""); a.StatusCode != 200 {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}

func TestLogOptions(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		query string
		want  task.LogOptions
		err   string
	}{
		{"", task.LogOptions{Follow: true}, ""},
		{"?follow=false&tail=10&since=90&node=1&timestamps=true", task.LogOptions{Tail: new(int64(10)), Since: 90 * time.Second, Node: new(1), Timestamps: true}, ""},
		{"?since=5m&tail=0&node=0", task.LogOptions{Follow: true, Since: 5 * time.Minute, Tail: new(int64(0)), Node: new(0)}, ""},
		{"?since=2d", task.LogOptions{Follow: true, Since: 48 * time.Hour}, ""},
		{"?tail=-1", task.LogOptions{}, `tail: "-1" is not a number of lines`},
		{"?tail=x", task.LogOptions{}, `tail: "x" is not a number of lines`},
		{"?node=-1", task.LogOptions{}, `node: "-1" is not the rank of a node`},
		{"?node=x", task.LogOptions{}, `node: "x" is not the rank of a node`},
		{"?since=-5m", task.LogOptions{}, `since: "-5m" is neither an age`},
		{"?since=yesterday", task.LogOptions{}, `since: "yesterday" is neither an age`},
		{"?since=2126-01-02T03:04:05Z", task.LogOptions{}, `since: "2126-01-02T03:04:05Z" has not come yet`},
		{"?follow=maybe", task.LogOptions{}, `follow: "maybe" is neither true nor false`},
		{"?timestamps=2", task.LogOptions{}, `timestamps: "2" is neither true nor false`},
	} {
		a := s.send("GET", "/tasks/a/logs"+tt.query, "")
		if tt.err != "" {
			a.wantError(t, 422, tt.err)
			continue
		}
		if diff := cmp.Diff(tt.want, s.options); diff != "" || a.StatusCode != 200 {
			t.Errorf("%s: %d (-want +got):\n%s", tt.query, a.StatusCode, diff)
		}
	}
}

func TestLinesOfALog(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		query   string
		options task.LogOptions
		lines   logpos.Range
		err     string
	}{
		{"?lines=7-8", task.LogOptions{}, logpos.Range{First: 7, Last: 8}, ""},
		{"?lines=-2&follow=false&node=1&attempt=2&timestamps=true", task.LogOptions{Node: new(1), Attempt: 2, Timestamps: true}, logpos.Range{Tail: 2}, ""},
		{"?lines=8-7", task.LogOptions{}, logpos.Range{}, `lines: "8-7" ends before it begins`},
		{"?lines=1-2&tail=3", task.LogOptions{}, logpos.Range{}, "lines: cannot be combined with tail"},
		{"?lines=1-2&since=3m", task.LogOptions{}, logpos.Range{}, "lines: cannot be combined with since"},
		{"?lines=1-2&follow=true", task.LogOptions{}, logpos.Range{}, "lines: cannot be combined with follow"},
	} {
		a := s.send("GET", "/tasks/a/logs"+tt.query, "")
		if tt.err != "" {
			a.wantError(t, 422, tt.err)
			continue
		}
		if diff := cmp.Diff(tt.options, s.options); diff != "" || s.lines != tt.lines || a.StatusCode != 200 || a.body != "seven\neight\n" || a.Header.Get("X-Log-Lines") != "7-8/*" {
			t.Errorf("%s: %d %+v %q %v (-want +got):\n%s", tt.query, a.StatusCode, s.lines, a.body, a.Header, diff)
		}
	}
	s.send("GET", "/tasks/a/logs?lines=1-2", "", "X-Log-Resume", "start").wantError(t, 422, "lines: cannot be combined with X-Log-Resume")
	s.linesErr = problem.New(problem.Unavailable, "the cluster does not return the log")
	s.send("GET", "/tasks/a/logs?lines=1-2", "").wantError(t, 503, "the cluster does not return the log")
}

func TestALogThatCanBeReadOn(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		place string
		want  map[int]time.Time
		err   string
	}{
		{"start", map[int]time.Time{}, ""},
		{"0@12,7@1790000000", map[int]time.Time{0: time.Unix(12, 0), 7: time.Unix(1790000000, 0)}, ""},
		{"0", nil, `X-Log-Resume: "0" is not RANK@SECOND`},
		{"0@1,-1@2", nil, `X-Log-Resume: "-1@2" is not RANK@SECOND`},
		{"0@x", nil, `X-Log-Resume: "0@x" is not RANK@SECOND`},
	} {
		a := s.send("GET", "/tasks/a/logs?tail=3", "", "X-Log-Resume", tt.place)
		if tt.err != "" {
			a.wantError(t, 422, tt.err)
			continue
		}
		want := task.LogOptions{Follow: true, Timestamps: true, Tail: new(int64(3)), Resume: tt.want}
		if diff := cmp.Diff(want, s.options); diff != "" || a.Header.Get("X-Log-Resumable") != "true" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.place, a.Header, diff)
		}
	}
	for _, tt := range []struct {
		headers []string
		want    time.Duration
		header  string
	}{
		{[]string{"X-Log-Resume", "start", "X-Log-Ping", "true"}, 15 * time.Second, "15"},
		{[]string{"X-Log-Resume", "start"}, 0, ""},
		{[]string{"X-Log-Ping", "true"}, 0, ""}, // an empty line could be one of the log
	} {
		if a := s.send("GET", "/tasks/a/logs", "", tt.headers...); s.options.Ping != tt.want || a.Header.Get("X-Log-Ping") != tt.header {
			t.Errorf("%v: a ping after %s, header %q", tt.headers, s.options.Ping, a.Header.Get("X-Log-Ping"))
		}
	}
	if got := s.send("GET", "/tasks/a/logs", "").Header.Get("X-Log-Resumable"); got != "" {
		t.Errorf("without being asked: resumable %q", got)
	}
}

// TestALogThatBreaksOffDoesNotEndAsAWholeOneDoes checks that a client can tell an
// incomplete log from a complete log.
func TestALogThatBreaksOffDoesNotEndAsAWholeOneDoes(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{tail: func(_ context.Context, _ task.LogOptions, w *bufio.Writer) error {
		_, _ = w.WriteString("one\n")
		_ = w.Flush()
		return errors.New("the API server is away")
	}})
	response, err := s.do("GET", "/tasks/a/logs", nil)
	if err != nil {
		return // the connection broke before any data was sent
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%q, and no error", got)
	}
}

func TestLogLinesComeAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	s := serve(t, &fake{tail: func(_ context.Context, _ task.LogOptions, w *bufio.Writer) error {
		for _, line := range []string{"one\n", "two\r\n\n", "thr\x00\xffee\n"} {
			if _, err := w.WriteString(line); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
			<-more
		}
		return nil
	}})
	response, err := s.do("GET", "/tasks/a/logs", nil, "Accept-Encoding", "gzip")
	must.Succeed(t, err)
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" || response.Header.Get("Content-Encoding") != "" {
		t.Errorf("headers %v", response.Header)
	}
	in := bufio.NewReader(response.Body)
	for _, want := range []string{"one\n", "two\r\n\n", "thr\x00\xffee\n"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		more <- struct{}{}
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

func TestALogStreamEndsWhenItsReaderLeaves(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, &fake{tail: func(ctx context.Context, _ task.LogOptions, w *bufio.Writer) error {
		_ = w.Flush()
		close(began)
		<-ctx.Done() // the task writes nothing, so no write can fail
		close(ended)
		return ctx.Err()
	}})
	conn := s.dial()
	if _, err := io.WriteString(conn, "GET /tasks/a/logs HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	conn.Close()
	<-ended
}

func TestAServerThatStopsEndsItsStreams(t *testing.T) {
	t.Parallel()
	listener := must.Listen(t)
	began := make(chan struct{})
	f := &fake{tail: func(ctx context.Context, _ task.LogOptions, w *bufio.Writer) error {
		_ = w.Flush()
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}}
	f.health.Ready = true
	server := f.newServer(Config{})
	stop := must.Run(t, func(ctx context.Context) error { return server.Run(ctx, listener) })
	conn, err := net.Dial("tcp", listener.Addr().String())
	must.Succeed(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /tasks/a/logs HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	_ = stop()
}
