package client

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s-cli/pkg/task"
)

func TestWhatIsSafeToRepeatIsRepeated(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ask   func(context.Context, *Client) error
		again bool
	}{
		{"a submission carries a key", func(ctx context.Context, c *Client) error { _, err := c.Submit(ctx, task.Spec{Run: "x"}); return err }, true},
		{"a volume's creation carries a key", func(ctx context.Context, c *Client) error { _, err := c.CreateVolume(ctx, task.Volume{}); return err }, true},
		{"a read", func(ctx context.Context, c *Client) error { _, err := c.Tasks(ctx, false); return err }, true},
		{"a stop of one task", func(ctx context.Context, c *Client) error { _, err := c.Stop(ctx, "a"); return err }, true},
		{"a stop of all counts differently the second time", func(ctx context.Context, c *Client) error { _, err := c.StopAll(ctx, false); return err }, false},
		{"a deletion finds nothing the second time", func(ctx context.Context, c *Client) error { _, err := c.DeleteVolume(ctx, "a"); return err }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for how, first := range map[string]http.HandlerFunc{
					"the connection breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
					"the server asks for it": func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Retry-After", "1")
						w.WriteHeader(http.StatusServiceUnavailable)
					},
				} {
					var asked atomic.Int32
					var keys [2]string
					c := inMemory(func(w http.ResponseWriter, r *http.Request) {
						n := asked.Add(1)
						keys[min(n, 2)-1] = r.Header.Get("Idempotency-Key")
						if n == 1 {
							first(w, r)
							return
						}
						_, _ = w.Write([]byte("{}"))
					})
					err := tt.ask(t.Context(), c)
					if again := asked.Load() == 2 && err == nil; again != tt.again {
						t.Errorf("%s: asked %d times, error %v", how, asked.Load(), err)
					}
					if tt.again && keys[0] != keys[1] {
						t.Errorf("%s: repeated under another key: %q", how, keys)
					}
				}
			})
		})
	}
}

func TestAServerThatAsksForTooLongAWaitIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if _, err := c.Tasks(t.Context(), false); err == nil || asked.Load() != 1 {
			t.Errorf("asked %d times, error %v", asked.Load(), err)
		}
	})
}

// TestABatchIsRepeatedUntilAllIsTaken checks that the client sends a whole batch again
// under the same key if the server was too busy for some tasks.
func TestABatchIsRepeatedUntilAllIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		c := inMemory(func(w http.ResponseWriter, r *http.Request) {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			code := `, "code": 503, "detail": "busy"`
			if len(keys) == 2 {
				code = `, "task_id": "t2"`
			}
			_, _ = io.WriteString(w, `{"results": [{"task_id": "t1"}, {"status": ""`+code+`}]}`)
		})
		b, err := c.SubmitAll(t.Context(), []task.Spec{{Run: "a"}, {Run: "b"}})
		if err != nil || b[1].ID != "t2" || len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("%+v, %v, keys %q", b, err, keys)
		}
	})
}
