package durability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// A submission is one task as its submitter knows the task.
type submission struct {
	name     string // unique; also the idempotency key
	id       string // from a 2xx answer, else empty
	sent     time.Time
	answered time.Time // when the 2xx answer arrived
	refusal  string    // the other answer, or the error
}

// Each submitter of a load sends one submission at a time.
const submitters = 16

// A load submits tasks until it is stopped. No task ever starts: each waits for a claim that
// does not exist.
type load struct {
	server *server
	quit   chan struct{}
	done   sync.WaitGroup

	mu   sync.Mutex
	sent []submission
}

func (s *server) load(t *testing.T, round string) *load {
	t.Helper()
	l := &load{server: s, quit: make(chan struct{})}
	for i := range submitters {
		l.done.Go(func() { l.submit(fmt.Sprintf("%s-%d", round, i)) })
	}
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *load) submit(prefix string) {
	for n := 0; ; n++ {
		select {
		case <-l.quit:
			return
		default:
		}
		one := l.server.submit(fmt.Sprintf("%s-%d", prefix, n))
		l.mu.Lock()
		l.sent = append(l.sent, one)
		l.mu.Unlock()
	}
}

// stop ends the load and returns its submissions.
func (l *load) stop() []submission {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.done.Wait()
	return l.sent
}

// count returns how many submissions were accepted and how many were not.
func (l *load) count() (accepted, refused int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.sent {
		if one.id != "" {
			accepted++
		}
	}
	return accepted, len(l.sent) - accepted
}

// await waits until this many submissions were accepted.
func (l *load) await(t *testing.T, accepted int) {
	t.Helper()
	eventually(t, "the load is accepted", func() (string, bool) {
		n, refused := l.count()
		return fmt.Sprintf("%d accepted, %d refused", n, refused), n >= accepted
	})
}

// bulk makes entries of the log large, so that the log has several files.
var bulk = strings.Repeat("# and so on\n", 1000)

// submit sends one task. The name of the task is the idempotency key.
func (s *server) submit(name string) submission {
	body, err := json.Marshal(map[string]any{"name": name, "run": "true\n" + bulk, "volumes": map[string]string{"/data": "nowhere"}})
	if err != nil {
		return submission{name: name, refusal: err.Error()}
	}
	one := submission{name: name, sent: time.Now()}
	got, err := s.ask(http.MethodPost, "/tasks/submit", name, string(body))
	one.answered = time.Now()
	var accepted task.Submitted
	switch {
	case err != nil:
		one.refusal = err.Error()
	case got.Code != http.StatusOK:
		one.refusal = fmt.Sprintf("%s Retry-After: %s", got, got.Header.Get("Retry-After"))
	case json.Unmarshal(got.Body, &accepted) != nil || accepted.ID == "":
		one.refusal = "no id in " + got.String()
	default:
		one.id = accepted.ID
	}
	return one
}

// accepts submits a task until the server accepts it, and returns the submission.
func (s *server) accepts(t *testing.T, name string) (one submission) {
	t.Helper()
	eventually(t, "task "+name+" is accepted", func() (string, bool) {
		one = s.submit(name)
		return one.refusal, one.id != ""
	})
	return one
}

// compare compares the submissions with the tasks of the server. compare returns the
// accepted submissions that are lost. compare reports an error for a task that exists twice,
// has another id, or was never sent.
func compare(t *testing.T, sent []submission, tasks map[string][]string) (lost []submission) {
	t.Helper()
	known := map[string]bool{}
	for _, one := range sent {
		known[one.name] = true
		ids := tasks[one.name]
		switch {
		case len(ids) > 1:
			t.Errorf("task %s is there %d times: %v", one.name, len(ids), ids)
		case one.id == "": // it may exist or not
		case len(ids) == 0:
			lost = append(lost, one)
		case ids[0] != one.id:
			t.Errorf("task %s was accepted as %s and is there as %s", one.name, one.id, ids[0])
		}
	}
	for name := range tasks {
		if !known[name] {
			t.Errorf("task %s was never sent", name)
		}
	}
	return lost
}
