package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A fake implements all dependencies of a server. A fake records the calls and returns what
// a test sets. The server reads the store of the fake; without a store of the test, it has the
// tasks a, anns and y of ann and x of bob, and the volumes a and anns of ann. What the server appends
// does not change the store.
type fake struct {
	verdict     func(task.Command) (task.Result, error)
	tail        func(context.Context, task.LogOptions, *bufio.Writer) error
	check       error
	capacityErr error
	eventList   task.Answer
	events      []task.Event
	listen      func(q task.EventQuery) (task.Subscription, error)
	health      Health
	holds       func(task.Resources) (can, known bool)

	store   *cache.Store
	entries uint64
	lostFor time.Duration // for which the end of the log is unknown; 0 if it is known
	reads   atomic.Int64  // read barriers

	mu       sync.Mutex
	commands []task.Command
	wanted   task.EventQuery
	limit    int
	options  task.LogOptions
	lines    logpos.Range
	linesErr error
}

func (f *fake) told() []task.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commands
}

// take returns the commands since the last call of take.
func (f *fake) take() []task.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	commands := f.commands
	f.commands = nil
	return commands
}

// A served server listens on a port of its own until the test ends.
type served struct {
	*fake
	t       *testing.T
	address string
	server  *Server
	config  Config
	logged  *strings.Builder // read only after the response has arrived
}

func serve(t *testing.T, f *fake) *served {
	t.Helper()
	return serveWith(t, f, func(*Config) {})
}

// serveWith is serve with changed settings.
func serveWith(t *testing.T, f *fake, change func(*Config)) *served {
	t.Helper()
	f.health.Ready = !f.health.Leading // a test that sets only Leading wants a server that is starting
	return f.serve(t, change, f.newServer)
}

// serve runs the server that newServer returns for the changed settings.
func (f *fake) serve(t *testing.T, change func(*Config), newServer func(Config) *Server) *served {
	t.Helper()
	listener := must.Listen(t)
	s := &served{fake: f, t: t, address: listener.Addr().String(), logged: &strings.Builder{}}
	config := Config{
		DefaultImage: "python:3.13-slim", Limits: policy.Limits{Nodes: 8},
		Logger: slog.New(slog.NewTextHandler(s.logged, nil)),
	}
	if f.holds != nil {
		config.Nodes = nodesFunc(f.holds)
	}
	config.Hosts = []string{"x"} // Host of the requests that tests write by hand
	change(&config)
	s.config = config
	s.server = newServer(config)
	server := s.server
	server.patience = time.Hour // however busy the machine is
	must.Run(t, func(ctx context.Context) error { return server.Run(ctx, listener) })
	return s
}

// An answered is a response with its body.
type answered struct {
	*http.Response
	body string
}

var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do sends a request of user ann. headers are pairs; the value "-" removes a header. A body is sent
// in chunks unless its type shows its length.
func (s *served) do(method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set(userHeader, "ann")
	if body != nil {
		r.Header.Set("Content-Type", typeJSON)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "-" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return client.Do(r)
}

// send is do for a response that ends.
func (s *served) send(method, path, body string, headers ...string) answered {
	s.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	response, err := s.do(method, path, content, headers...)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answered{response, string(raw)}
}

// submit submits a task and returns its id.
func (s *served) submit(body string, headers ...string) string {
	s.t.Helper()
	var got task.Submitted
	a := s.send(http.MethodPost, "/tasks/submit", body, headers...)
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.ID == "" {
		s.t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return got.ID
}

// wantAnswer checks the body of the answer to a request with a token, or the error of a request
// that is rejected: it must contain want.
func (s *served) wantAnswer(path, token, want string) {
	s.t.Helper()
	if a := s.send("GET", path, "", "Authorization", "Bearer "+token); !strings.Contains(a.body, want) {
		s.t.Errorf("%s of %s: %d %s, want %s", path, token, a.StatusCode, a.body, want)
	}
}

// wantLogged checks that the log has these lines and no others. Each line contains the text.
func (s *served) wantLogged(want ...string) {
	s.t.Helper()
	lines := strings.Split(strings.TrimSpace(s.logged.String()), "\n")
	if len(lines) != len(want) {
		s.t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), s.logged)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			s.t.Errorf("line %d: %s\nwant %s", i, line, want[i])
		}
	}
}

// names returns the ids of the objects of a list.
func (a answered) names(t *testing.T) string {
	t.Helper()
	var lists map[string][]map[string]any
	if err := json.Unmarshal([]byte(a.body), &lists); err != nil {
		t.Fatalf("%d %s: %v", a.StatusCode, a.body, err)
	}
	var names []string
	for _, list := range lists {
		for _, o := range list {
			for _, field := range []string{"task_id", "volume_id", "id", "group"} {
				if name, ok := o[field].(string); ok {
					names = append(names, name)
					break
				}
			}
		}
	}
	return strings.Join(names, " ")
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// raw sends raw requests one after the other on one connection, and returns their
// responses.
func (s *served) raw(requests ...string) (answers []answered) {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, request := range requests {
		if _, err := io.WriteString(conn, request); err != nil {
			s.t.Fatal(err)
		}
		answer, err := readAnswer(in)
		if err != nil {
			s.t.Fatalf("answer to %.60q: %v", request, err)
		}
		answers = append(answers, answer)
	}
	return answers
}

// until sends raw requests and returns all responses until the server closes the connection.
func (s *served) until(requests string) (answers []answered) {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, requests) }()
	for in := bufio.NewReader(conn); ; {
		answer, err := readAnswer(in)
		if err != nil {
			return answers
		}
		answers = append(answers, answer)
	}
}

func readAnswer(in *bufio.Reader) (answered, error) {
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return answered{}, err
	}
	body, err := io.ReadAll(response.Body)
	return answered{response, string(body)}, err
}

// dial returns a connection to the server. The connection is closed when the test ends.
func (s *served) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	must.Succeed(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// wantError checks that a response is an error with this status, whose message is one line
// that contains text.
func (a answered) wantError(t *testing.T, code int, text string) {
	t.Helper()
	d := map[string]string{}
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || problem.Reason(d["reason"]).Code() != code {
		t.Errorf("body %q has no reason of %d: %v", a.body, code, err)
	}
	if got := a.Header.Get("Content-Type"); got != typeJSON {
		t.Errorf("content type %q", got)
	}
	if a.StatusCode != code || !strings.Contains(d["detail"], text) || strings.Contains(d["detail"], "\n") {
		t.Errorf("%d %q, want %d and a sentence with %q", a.StatusCode, d["detail"], code, text)
	}
}
