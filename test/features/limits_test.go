package features

import (
	"net/http"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A user gets no more than the limits allow. The error names the limit, and whoami shows it.
func TestLimitsOfAUser(t *testing.T) {
	t.Parallel()
	s := start(t, "--max-active-tasks", "2", "--max-log-streams", "1")
	ann, bob := s.as(t, "ann"), s.as(t, "bob")
	first := ann.submit(t, yaml("run", endless))
	ann.submit(t, idle)
	got := s.post(t, "ann", "/tasks/submit", `{"run": "true"}`)
	if sentence := got.detail(t); got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" || !strings.Contains(sentence, "--max-active-tasks") {
		t.Errorf("a third task: %d %v %s", got.code, got.header, sentence)
	}
	bob.submit(t, idle)
	if said := ann.cli(t, "auth", "whoami").ok(t); !strings.Contains(said, "Limit: 2 active tasks (2 in use)\n") {
		t.Errorf("whoami says %q", said)
	}
	ann.await(t, first, task.Running)
	log := ann.follow(t, first, client.LogOptions{})
	log.awaitText(t, "begun\n")
	if got := s.get(t, "ann", "/tasks/"+first+"/logs"); got.code != http.StatusTooManyRequests {
		t.Errorf("a second log at once: %d %s", got.code, got.body)
	}
	ann.stop(t, first)
	ann.submit(t, idle) // below the limit again
}
