package notify

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// The example of Standard Webhooks.
func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	must.Succeed(t, err)
	if callback.FormatSecret(secret) != "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" {
		t.Errorf("the secret is %s", callback.FormatSecret(secret))
	}
	got := Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
}

func TestMessageIsACloudEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 54, 59, 0, time.UTC)
	e := task.Event{ID: task.EventID{Seq: 5, N: 1}, Time: at, Type: task.EventPhase, Kind: task.KindTask, TaskID: "zt9bk0y5", Name: "train", User: "ann", Status: "running"}
	for eventType, want := range map[task.EventType]string{task.EventPhase: "k8s-cli.task.running", task.EventRestart: "k8s-cli.task.restart"} {
		e.Type = eventType
		m, err := newMessage(task.StoredEvent{Position: 3, Log: "abc", Event: e})
		must.Succeed(t, err)
		text := `{"specversion":"1.0","id":"abc-5-1","source":"/k8s-cli/abc","type":"` + want + `","subject":"tasks/zt9bk0y5","time":"2026-11-21T09:54:59Z","datacontenttype":"application/json","data":{"id":"5.1","time":"2026-11-21T09:54:59Z","type":"` + string(eventType) + `","kind":"task","task_id":"zt9bk0y5","name":"train","user":"ann","status":"running"}}`
		if m.id != "abc-5-1" || string(m.body) != text {
			t.Errorf("%s: %s", m.id, m.body)
		}
	}
}

// A stream is a stream of events in memory.
type stream struct {
	mu      sync.Mutex
	events  []task.StoredEvent // the position of an event is its index + 1
	first   uint64
	changed chan struct{}
}

func newStream() *stream { return &stream{first: 1, changed: make(chan struct{})} }

func (s *stream) add(user, id, status string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := uint64(len(s.events) + 1)
	s.events = append(s.events, task.StoredEvent{Position: n, Log: "log", Event: task.Event{ID: task.EventID{Seq: n, N: 1}, Time: at, Type: task.EventPhase, Kind: task.KindTask, TaskID: id, User: user, Status: status}})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) expireBefore(position uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = position
}

func (s *stream) Bounds(context.Context) (task.EventBounds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return task.EventBounds{Stream: "one", First: s.first, Last: uint64(len(s.events))}, nil
}

func (s *stream) FollowTasks(ctx context.Context, from uint64, pass func(uint64, string)) error {
	for from = max(from, 1); ; {
		s.mu.Lock()
		behind, changed := s.events[min(max(from, s.first)-1, uint64(len(s.events))):], s.changed
		s.mu.Unlock()
		for _, e := range behind {
			pass(e.Position, e.Event.TaskID)
			from = e.Position + 1
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *stream) NextOfTasks(_ context.Context, user string, from uint64) (task.StoredEvent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Position >= max(from, s.first) && e.Event.User == user {
			return e, nil
		}
	}
	return task.StoredEvent{}, problem.New(problem.NotFound, "none")
}

// A viewer returns the views of tasks.
type viewer interface{ TaskView(id string) task.View }

// callbacks holds the URLs of tasks by id.
type callbacks map[string]string

func (c callbacks) TaskView(id string) task.View {
	target, ok := c[id]
	if !ok {
		return task.View{}
	}
	user, _, _ := strings.Cut(id, "-")
	return task.View{Record: &task.Record{Submit: task.Submit{ID: id, User: user, Task: task.Spec{EventCallback: target}}}}
}

// A memory is a checkpoint in memory.
type memory struct {
	mu     sync.Mutex
	stored []byte
	fails  error
}

func (m *memory) Load(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored, nil
}

func (m *memory) Store(_ context.Context, c []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == nil {
		m.stored = c
	}
	return m.fails
}

// A receiverServer records the notifications that arrive at a host.
type receiverServer struct {
	host   string
	answer func(path string, n int) int // status of the response

	mu       sync.Mutex
	ids      []string
	statuses []string // task and status of each notification
	wrong    []string
	requests int
}

var testSecret = []byte("the secret of a user")

// newReceiver returns a receiver with the URL https://NAME.example.com.
func newReceiver(name string, answer func(path string, n int) int) *receiverServer {
	return &receiverServer{host: name + ".example.com", answer: answer}
}

func (s *receiverServer) url(path string) string { return "https://" + s.host + path }

// receiverNetwork passes requests to receivers without sockets, so that tests run in a bubble.
type receiverNetwork []*receiverServer

func (n receiverNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, s := range n {
		if s.host == r.URL.Host {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Result(), nil
		}
	}
	return nil, errors.New("no such host")
}

func (s *receiverServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e cloudEvent
	id := r.Header.Get("Webhook-Id")
	seconds, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	err := json.Unmarshal(body, &e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if err != nil || e.ID != id || r.Header.Get("Webhook-Signature") != Sign(testSecret, id, time.Unix(seconds, 0), body) || r.Method != http.MethodPost {
		s.wrong = append(s.wrong, string(body))
	}
	status := s.answer(r.URL.Path, s.requests)
	if status == http.StatusOK {
		s.ids, s.statuses = append(s.ids, id), append(s.statuses, e.Data.TaskID+" "+e.Data.Status)
	}
	w.Header().Set("Location", "/redirected")
	w.WriteHeader(status)
}

func (s *receiverServer) got() (statuses []string, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses), s.requests
}

// await waits until done returns true, for at most 30 seconds of the clock of the bubble.
func (s *receiverServer) await(t *testing.T, what string, done func(statuses []string, requests int) bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		statuses, requests := s.got()
		if done(statuses, requests) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d requests, %q", what, requests, statuses)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrong) > 0 {
		t.Errorf("%s: wrong signatures or ids: %q", what, s.wrong)
	}
}

func (s *receiverServer) awaitAll(t *testing.T, want []string) {
	t.Helper()
	s.await(t, "all notifications", func(statuses []string, _ int) bool { return slices.Equal(statuses, want) })
}

func always(status int) func(string, int) int { return func(string, int) int { return status } }

// A leader is a Notifier that runs.
type leader struct {
	*Notifier
	stop func()
	log  *bytes.Buffer // may be read after stop
}

func lead(t *testing.T, s *stream, m *memory, tasks viewer, receivers ...*receiverServer) *leader {
	t.Helper()
	return leadOf(t, s, m, tasks, func(context.Context) bool { return true }, receivers...)
}

func leadOf(t *testing.T, s *stream, m *memory, tasks viewer, caughtUp func(context.Context) bool, receivers ...*receiverServer) *leader {
	t.Helper()
	hosts, err := callback.ParseHosts([]string{"*.example.com"})
	must.Succeed(t, err)
	var log bytes.Buffer
	n := New(s, m, tasks.TaskView, Config{Hosts: hosts, Secret: func(string) []byte { return testSecret }, Retention: time.Hour, CaughtUp: caughtUp, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	n.client.Transport = receiverNetwork(receivers)
	stop := must.Run(t, n.Run)
	return &leader{n, func() { _ = stop() }, &log}
}

// lifeOf adds the events of tasks, whose phases change in turns.
func lifeOf(s *stream, user string, ids ...string) (all []string) {
	for _, status := range []string{"pending", "running", "completed"} {
		for _, id := range ids {
			s.add(user, id, status, time.Now())
			all = append(all, id+" "+status)
		}
	}
	return all
}

func TestAFailingReceiverGetsEverythingInOrderAndDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := newReceiver("down", func(_ string, n int) int {
			if n <= 2 {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		up, dead := newReceiver("up", always(http.StatusOK)), newReceiver("dead", always(http.StatusInternalServerError))
		tasks := callbacks{"ann-1": down.url("/secret"), "ann-2": down.url("/secret"), "ann-3": up.url(""), "bob-1": up.url(""), "ann-4": "", "ann-5": dead.url("")}
		s := newStream()
		l := lead(t, s, &memory{}, tasks, down, up, dead)
		lifeOf(s, "ann", "ann-4", "ann-5")
		want := lifeOf(s, "ann", "ann-1", "ann-2")
		others := lifeOf(s, "ann", "ann-3")
		up.awaitAll(t, others)
		if got, _ := down.got(); len(got) > 0 {
			t.Errorf("the receiver that was down got %q before the other receiver got everything", got)
		}
		down.awaitAll(t, want)
		others = append(others, lifeOf(s, "bob", "bob-1")...)
		up.awaitAll(t, others)
		if receivers, failing := l.run.Load().count(); receivers != 1 || failing != 1 || l.run.Load().oldest().IsZero() {
			t.Errorf("%d receivers, %d failing, oldest %s", receivers, failing, l.run.Load().oldest())
		}
		l.stop()
		if !strings.Contains(l.log.String(), "status=503") || strings.Contains(l.log.String(), "secret") {
			t.Errorf("the log is %s", l.log)
		}
	})
}

// Whatever a dead leader has stored, its successor sends the rest.
func TestTheNextLeaderContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newStream(), &memory{}
		open := make(chan struct{})
		r := newReceiver("r", func(path string, n int) int {
			if path == "/late" {
				select {
				case <-open:
				default:
					return http.StatusBadGateway
				}
			}
			return http.StatusOK
		})
		tasks := callbacks{"ann-1": r.url("/now"), "ann-2": r.url("/late")}
		first := lead(t, s, m, tasks, r)
		lifeOf(s, "ann", "ann-1", "ann-2")
		r.await(t, "the first receiver", func(statuses []string, _ int) bool { return len(statuses) == 3 })
		var p position
		for p.Events < 6 || len(p.Receivers) != 1 { // until the leader has stored what it did
			time.Sleep(10 * time.Millisecond)
			stored, _ := m.Load(t.Context())
			_ = json.Unmarshal(stored, &p)
		}
		stored, _ := m.Load(t.Context())
		if strings.Contains(string(stored), "late") {
			t.Errorf("the checkpoint contains a URL: %s", stored)
		}
		first.stop()
		m.stored = stored // the leader died before it stored more
		close(open)
		lifeOf(s, "ann", "ann-1")
		lead(t, s, m, tasks, r)
		r.await(t, "the rest", func(statuses []string, _ int) bool { return len(statuses) == 9 })
		statuses, _ := r.got()
		var late []string
		for _, status := range statuses {
			if strings.HasPrefix(status, "ann-2") {
				late = append(late, status)
			}
		}
		if want := []string{"ann-2 pending", "ann-2 running", "ann-2 completed"}; !slices.Equal(late, want) {
			t.Errorf("the late receiver got %q", late)
		}
	})
}

// A user may have more receivers than the server serves at once. Only this user waits for
// receivers that are away.
func TestManyReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream()
		gate := make(chan struct{})
		r := newReceiver("r", func(path string, _ int) int {
			if strings.HasPrefix(path, "/away") {
				select {
				case <-gate:
				default:
					return http.StatusBadGateway
				}
			}
			return http.StatusOK
		})
		tasks := callbacks{"bob-1": r.url("/bob")}
		var want []string
		for n := range 2 * maxReceiversOfUser {
			id := fmt.Sprintf("ann-%d", n)
			tasks[id] = r.url(fmt.Sprintf("/away/%d", n))
			want = append(want, lifeOf(s, "ann", id)...)
		}
		l := lead(t, s, &memory{}, tasks, r)
		bobs := lifeOf(s, "bob", "bob-1")
		r.awaitAll(t, bobs)
		if receivers, _ := l.run.Load().count(); receivers != maxReceiversOfUser {
			t.Errorf("%d receivers are served at once", receivers)
		}
		close(gate)
		r.await(t, "all of ann", func(statuses []string, _ int) bool { return len(statuses) == len(want)+len(bobs) })
		got, _ := r.got()
		for n := range 2 * maxReceiversOfUser {
			id := fmt.Sprintf("ann-%d", n)
			own := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, id+" ") })
			if len(own) != 3 || own[0] != id+" pending" || own[1] != id+" running" || own[2] != id+" completed" {
				t.Errorf("%s: %q", id, own)
			}
		}
	})
}

func TestAReceiverMayBeGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream()
		r := newReceiver("r", func(path string, _ int) int {
			if path == "/gone" {
				return http.StatusGone
			}
			return http.StatusOK
		})
		tasks := callbacks{"ann-1": r.url("/gone"), "ann-2": r.url("")}
		l := lead(t, s, &memory{}, tasks, r)
		lifeOf(s, "ann", "ann-1")
		want := lifeOf(s, "ann", "ann-2")
		r.awaitAll(t, want)
		for receivers := 1; l.counters.gone.Load() == 0 || receivers > 0; receivers, _ = l.run.Load().count() {
			time.Sleep(time.Millisecond)
		}
		if _, requests := r.got(); requests != 1+3 {
			t.Errorf("%d requests", requests)
		}
	})
}

// An event that expired before its receiver came back is not sent, and the next one is.
func TestNotificationsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream()
		down := true
		r := newReceiver("r", func(string, int) int {
			if down {
				return http.StatusNotFound
			}
			return http.StatusOK
		})
		s.add("ann", "ann-1", "pending", time.Now().Add(-2*time.Hour))
		l := lead(t, s, &memory{}, callbacks{"ann-1": r.url("")}, r)
		for l.counters.expired.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		s.add("ann", "ann-1", "running", time.Now())
		s.add("ann", "ann-1", "failed", time.Now())
		s.add("ann", "ann-1", "completed", time.Now())
		r.await(t, "a failed attempt", func(_ []string, n int) bool { return n >= 2 })
		s.expireBefore(4)
		r.mu.Lock()
		down = false
		r.mu.Unlock()
		r.awaitAll(t, []string{"ann-1 running", "ann-1 completed"})
		if n := l.counters.expired.Load(); n != 2 {
			t.Errorf("%d expired", n)
		}
	})
}

// Without a checkpoint that belongs to the stream, a leader sends more rather than less.
func TestPositionOfAnotherStream(t *testing.T) {
	p := position{Stream: "one", Events: 10, Receivers: []receiverPosition{{span{"ann", 4, 9}, "key"}}, Stalled: []span{{"ann", 7, 10}}}
	raw := must.Encode(t, p)
	for _, tt := range []struct {
		name   string
		stored []byte
		bounds task.EventBounds
		want   uint64
	}{
		{"no checkpoint", nil, task.EventBounds{Stream: "one", Last: 20}, 0},
		{"the same stream", raw, task.EventBounds{Stream: "one", Last: 20}, 10},
		{"a stream that lost its last events", raw, task.EventBounds{Stream: "one", Last: 8}, 4},
		{"another stream", raw, task.EventBounds{Stream: "two", Last: 20}, 0},
	} {
		got, err := readPosition(tt.stored, tt.bounds)
		if err != nil || got.Events != tt.want || (len(got.Receivers) > 0) != (tt.want == 10) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

// A leader whose checkpoint another leader has replaced begins again from that checkpoint.
func TestTwoLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newStream(), &memory{fails: errors.New("conflict")}
		r := newReceiver("r", always(http.StatusOK))
		l := lead(t, s, m, callbacks{"ann-1": r.url("")}, r)
		s.add("ann", "ann-1", "pending", time.Now())
		r.await(t, "the notification again", func(statuses []string, _ int) bool { return len(statuses) == 2 && statuses[0] == statuses[1] })
		l.stop()
		if !strings.Contains(l.log.String(), "conflict") {
			t.Errorf("the log is %s", l.log)
		}
	})
}

func TestRedirectsAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream()
		r := newReceiver("r", func(path string, n int) int {
			if n == 1 {
				return http.StatusTemporaryRedirect
			}
			return http.StatusOK
		})
		lead(t, s, &memory{}, callbacks{"ann-1": r.url("")}, r)
		s.add("ann", "ann-1", "pending", time.Now())
		r.awaitAll(t, []string{"ann-1 pending"})
		if _, requests := r.got(); requests != 2 {
			t.Errorf("%d requests", requests)
		}
	})
}

func TestTheClientConnectsOnlyToAllowedAddresses(t *testing.T) {
	requests := 0
	r := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer r.Close()
	t.Setenv("HTTP_PROXY", r.URL)
	var asked string
	client := newClient(func(host, port string, to netip.Addr) error {
		asked = host + " " + to.String()
		return errors.New("not this address")
	})
	target := "http://localhost:" + r.URL[strings.LastIndexByte(r.URL, ':')+1:]
	response, err := client.Get(target)
	if err == nil {
		_ = response.Body.Close()
		t.Fatalf("connected: %s", response.Status)
	}
	if !strings.Contains(err.Error(), "not this address") || !strings.HasPrefix(asked, "localhost ") {
		t.Errorf("%v, asked for %q", err, asked)
	}
	if requests > 0 {
		t.Error("the request arrived")
	}
}

// A laggingStore does not know any task until it has caught up.
type laggingStore struct {
	callbacks

	calls atomic.Int32
}

func (l *laggingStore) TaskView(id string) task.View {
	if l.calls.Load() < 2 {
		return task.View{}
	}
	return l.callbacks.TaskView(id)
}

// The first events that a new leader sees may be of tasks that this pod has yet to learn of.
func TestEventsOfTasksThatAreNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newStream(), newReceiver("r", always(http.StatusOK))
		want := lifeOf(s, "ann", "ann-1")
		store := &laggingStore{callbacks: callbacks{"ann-1": r.url("")}}
		leadOf(t, s, &memory{}, store, func(context.Context) bool { return store.calls.Add(1) == 2 }, r)
		r.awaitAll(t, want)
	})
}

// A few users with URLs that never answer leave receivers for all others.
func TestReceiversAreLeftForOtherUsers(t *testing.T) {
	users := 0
	for r := (&run{}); r.receivers < maxReceivers; users++ {
		r.receivers += r.receiversOfUser() // each user takes as many as possible
	}
	if users < 500 {
		t.Errorf("%d users hold all %d receivers", users, maxReceivers)
	}
}
