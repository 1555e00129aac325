package features

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s-cli/pkg/task"
)

// While a server shuts down, a client gets either a complete answer or no connection, so
// that no client is in doubt whether a command was stored.
func TestShutdownCompletesRequestsInFlight(t *testing.T) {
	t.Parallel()
	const clients = 16
	s := start(t)
	var (
		all      sync.WaitGroup
		mu       sync.Mutex
		accepted []string
		first    = make(chan struct{}, clients)
	)
	for range clients {
		all.Go(func() {
			for {
				id, more := submitOnce(t, s)
				if !more {
					return
				}
				mu.Lock()
				accepted = append(accepted, id)
				mu.Unlock()
				select {
				case first <- struct{}{}:
				default:
				}
			}
		})
	}
	for range clients {
		<-first
	}
	s.process.terminate(t)
	if code := s.process.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	all.Wait()

	ann := s.again(t).as(t, "ann")
	stored := map[string]bool{}
	for _, id := range ann.tasks(t) {
		stored[id] = true
	}
	for _, id := range accepted {
		if !stored[id] {
			t.Errorf("task %s was accepted and is not there", id)
		}
	}
	if len(stored) != len(accepted) {
		t.Errorf("%d tasks were stored, %d accepted", len(stored), len(accepted))
	}
	if _, err := ann.StopAll(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// submitOnce submits a task that never starts. more is false once the server accepts no more
// requests.
func submitOnce(t *testing.T, s *server) (id string, more bool) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/tasks/submit",
		strings.NewReader(`{"run":"true","volumes":{"/data":"not-there"}}`))
	if err != nil {
		t.Error(err)
		return "", false
	}
	request.Header.Set("X-User", "ann")
	response, err := held(t).Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		t.Errorf("an answer broke off: %v", err)
	case response.StatusCode == http.StatusOK:
		return decode[task.Submitted](t, answer{code: response.StatusCode, body: body}).ID, true
	case response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "":
		t.Errorf("answer %d: %s", response.StatusCode, body)
	case strings.Contains(string(body), "may have been stored"):
		t.Errorf("left in doubt: %s", body)
	}
	return "", false
}
