package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func TestSafeRequestsAreRepeated(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ask   func(context.Context, *Client) error
		keyed bool
	}{
		{"a submission", func(ctx context.Context, c *Client) error { return second(c.Submit(ctx, task.Spec{Run: "x"})) }, true},
		{"a volume's creation", func(ctx context.Context, c *Client) error { return second(c.CreateVolume(ctx, task.Volume{})) }, true},
		{"a read", func(ctx context.Context, c *Client) error { return second(c.Tasks(ctx, false)) }, false},
		{"a stop of one task", func(ctx context.Context, c *Client) error { return second(c.Stop(ctx, "a")) }, true},
		{"a stop of all", func(ctx context.Context, c *Client) error { return second(c.StopAll(ctx, false)) }, true},
		{"a stop of a group", func(ctx context.Context, c *Client) error { return second(c.StopGroup(ctx, "a")) }, true},
		{"a deletion", func(ctx context.Context, c *Client) error { return second(c.DeleteVolume(ctx, "a")) }, true},
		{"a forced deletion", func(ctx context.Context, c *Client) error { return second(c.ForceDeleteVolume(ctx, "a")) }, true},
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
					var keys []string
					c := inMemory(func(w http.ResponseWriter, r *http.Request) {
						if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
							first(w, r)
							return
						}
						_, _ = io.WriteString(w, `{"task_id": "a", "volume_id": "a"}`)
					})
					if err := tt.ask(t.Context(), c); err != nil || len(keys) != 2 {
						t.Errorf("%s: asked %d times, error %v", how, len(keys), err)
					}
					if slices.Contains(keys, "") == tt.keyed || len(slices.Compact(keys)) != 1 {
						t.Errorf("%s: the keys are %q", how, keys)
					}
				}
			})
		})
	}
}

// TestReadsWaitForARestart checks that a read waits until a server that has answered once answers
// again, and that other requests, and a client that no server has answered, do not wait.
func TestReadsWaitForARestart(t *testing.T) {
	read := func(ctx context.Context, c *Client) error { return second(c.Task(ctx, "a")) }
	for _, tt := range []struct {
		name   string
		first  bool // the server answers the first request
		ask    func(context.Context, *Client) error
		down   func() (*http.Response, error)
		broken int // answers of down before the server answers again
		want   bool
	}{
		{"connections are refused", true, read, refused, 9, true},
		{"the server starts", true, read, starting, 9, true},
		{"a proxy closes connections", true, read, func() (*http.Response, error) { return nil, io.EOF }, 9, true},
		{"the server stays away", true, read, refused, 1000, false},
		{"no server has answered", false, read, refused, 1, false},
		{"a submission", true, func(ctx context.Context, c *Client) error { return second(c.Submit(ctx, task.Spec{Run: "x"})) }, refused, 1, false},
		{"events", true, func(ctx context.Context, c *Client) error {
			stream, err := c.Subscribe(ctx, EventSource{})
			if err == nil {
				stream.Close()
			}
			return err
		}, refused, 9, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := 0
				c := over(func(*http.Request) (*http.Response, error) {
					if down--; down >= 0 {
						return tt.down()
					}
					return answer(http.StatusOK, `{"task_id": "a"}`), nil
				})
				if tt.first {
					must.Succeed(t, tt.ask(t.Context(), c))
				}
				down = tt.broken
				began := time.Now()
				err := tt.ask(t.Context(), c)
				if (err == nil) != tt.want || time.Since(began) > c.timeout {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				if !tt.want && tt.broken == 1 && time.Since(began) > 0 {
					t.Errorf("the request failed only after %s", time.Since(began))
				}
			})
		})
	}
}

// TestWaitsOutlastTheServer checks that a wait goes on for longer than the timeout of a request
// while the server is away, and that it ends with its context.
func TestWaitsOutlastTheServer(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *Client) error{
		"a task":  func(ctx context.Context, c *Client) error { return second(c.Wait(ctx, "a")) },
		"a group": func(ctx context.Context, c *Client) error { return second(c.WaitGroup(ctx, "g")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const away = time.Hour
				began, requests := time.Now(), 0
				c := over(func(r *http.Request) (*http.Response, error) {
					requests++
					switch back, events := time.Since(began) > away, strings.HasSuffix(r.URL.Path, "/events"); {
					case back && events:
						return answer(http.StatusGone, `{"detail": "events were missed"}`), nil
					case requests < 4 && events:
						return answer(http.StatusOK, "id: 1.0\n\n"), nil
					case back:
						return answer(http.StatusOK, `{"task_id": "a", "status": "completed", "group": "g", "total": 1, "by_status": {"completed": 1}}`), nil
					case requests < 4:
						return answer(http.StatusOK, `{"task_id": "a", "status": "running", "group": "g", "total": 1, "by_status": {"running": 1}}`), nil
					}
					return refused()
				})
				if err := wait(t.Context(), c); err != nil || time.Since(began) < away {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				began, requests = time.Now(), 0
				ctx, cancel := context.WithTimeout(t.Context(), away/2)
				defer cancel()
				if err := wait(ctx, c); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > away/2 {
					t.Errorf("a wait with a deadline: after %s: %v", time.Since(began), err)
				}
			})
		})
	}
}

func refused() (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func starting() (*http.Response, error) {
	return answer(http.StatusServiceUnavailable, `{"detail": "the server is starting", "reason": "Starting"}`), nil
}

func TestLongRetryAfterIsAnError(t *testing.T) {
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

// TestBatchIsRepeatedUntilAllTasksAreAccepted checks that the client sends a whole batch again
// under the same key if the server was too busy for some tasks.
func TestBatchIsRepeatedUntilAllTasksAreAccepted(t *testing.T) {
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
