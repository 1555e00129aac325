package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A name that no group has is never sent: without the name, a stop would mean all tasks.
func TestInvalidGroupNamesCauseNoRequest(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) })
	for _, name := range []string{"", "a b", "../tasks", "a/stop", "-a"} {
		if _, err := c.StopGroup(t.Context(), name); !errors.Is(err, problem.NotFound) {
			t.Errorf("stop %q: %v", name, err)
		}
		if _, err := c.Group(t.Context(), name); !errors.Is(err, problem.NotFound) {
			t.Errorf("group %q: %v", name, err)
		}
	}
}

// TestWaitGroup checks that WaitGroup requests the state again only when all tasks may be over.
func TestWaitGroup(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/groups/sweep":
			states := []string{`{"running": 2, "completed": 1}`, `{"running": 2, "completed": 1}`, `{"completed": 2, "failed": 1}`}
			fmt.Fprintf(w, `{"group": "sweep", "total": 3, "by_status": %s}`, states[asked])
			asked++
		case "/events?group=sweep":
			for n, status := range []string{"running", "completed", "failed"} {
				fmt.Fprintf(w, "id: 2.%d\ndata: {\"type\": \"phase\", \"kind\": \"task\", \"task_id\": \"t%d\", \"status\": %q}\n\n", n+1, n, status)
			}
		default:
			t.Errorf("the client asked for %s", r.URL)
		}
	})
	if g, err := c.WaitGroup(t.Context(), "sweep"); err != nil || g.Over() != 3 || asked != 3 {
		t.Errorf("%+v after %d requests for the state, %v", g, asked, err)
	}
	asked = 0
	var left []int
	_, err := c.WatchGroup(t.Context(), "sweep", func(n int, _ task.Event) error {
		if left = append(left, n); n == 1 {
			return errFull
		}
		return nil
	})
	if !errors.Is(err, errFull) || !slices.Equal(left, []int{2, 1}) {
		t.Errorf("left %v, %v", left, err)
	}
	asked = 2
	if _, err := c.WaitGroup(t.Context(), "sweep"); err != nil || asked != 3 {
		t.Errorf("a group that is over: %d requests, %v", asked-2, err)
	}
}
