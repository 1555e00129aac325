package client

import (
	"errors"
	"net/http"
	"testing"

	"k8s-cli/pkg/task"
)

// A name that no group has is never sent: without the name, a stop would mean all tasks.
func TestNamesThatNoGroupHas(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) })
	for _, name := range []string{"", "a b", "../tasks", "a/stop", "-a"} {
		if _, err := c.StopGroup(t.Context(), name); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("stop %q: %v", name, err)
		}
		if _, err := c.Group(t.Context(), name); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("group %q: %v", name, err)
		}
	}
}
