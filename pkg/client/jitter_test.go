package client

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task"
)

// first describes how the server answers the first request. Every later request gets the
// response then, which ends the operation.
var first = map[string]struct {
	pause  time.Duration
	answer func() (*http.Response, error)
	then   string
	ask    func(*testing.T, *Client) error
}{
	"a connection that broke": {
		firstPause, func() (*http.Response, error) { return nil, io.EOF }, "{}",
		func(t *testing.T, c *Client) error { return second(c.Tasks(t.Context(), false)) },
	},
	"a server that asks for a pause": {
		10 * time.Second,
		func() (*http.Response, error) {
			a := answer(http.StatusTooManyRequests, "{}")
			a.Header.Set("Retry-After", "10")
			return a, nil
		}, "{}",
		func(t *testing.T, c *Client) error { return second(c.Tasks(t.Context(), false)) },
	},
	"an upload": {
		firstPause, func() (*http.Response, error) { return nil, io.EOF }, "",
		func(t *testing.T, c *Client) error {
			return c.Upload(t.Context(), "sum", 0, func() (io.ReadCloser, error) { return http.NoBody, nil })
		},
	},
	"a batch of which a part was not taken": {
		busyPause, func() (*http.Response, error) { return answer(http.StatusOK, `{"results": [{"code": 503}]}`), nil }, `{"results": [{"task_id": "a"}]}`,
		func(t *testing.T, c *Client) error { return second(c.SubmitAll(t.Context(), []task.Spec{{Run: "x"}})) },
	},
	"a stream of events": {
		listenPause, func() (*http.Response, error) { return answer(http.StatusOK, ""), nil }, "id: 2.1\ndata: {}\n\n",
		func(t *testing.T, c *Client) error {
			stream, err := c.Subscribe(t.Context(), EventSource{})
			if err != nil {
				return err
			}
			defer stream.Close()
			_, err = stream.Next()
			return err
		},
	},
	"a log": {
		firstPause,
		func() (*http.Response, error) {
			a := answer(http.StatusOK, "")
			a.Header.Set(resumableHeader, "true")
			a.Body = brokenBody{}
			return a, nil
		}, "",
		func(t *testing.T, c *Client) error { return c.Logs(t.Context(), "a", LogOptions{}, io.Discard) },
	},
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
func (brokenBody) Close() error             { return nil }

// paused returns the pause of a client between the first two requests.
func paused(t *testing.T, name string, set func(*Client)) time.Duration {
	t.Helper()
	how, asked := first[name], 0
	var at [2]time.Time
	c := over(func(*http.Request) (*http.Response, error) {
		asked++
		at[min(asked, 2)-1] = time.Now()
		if asked == 1 {
			return how.answer()
		}
		return answer(http.StatusOK, how.then), nil
	})
	set(c)
	if err := how.ask(t, c); err != nil || asked != 2 {
		t.Fatalf("%s: asked %d times, %v", name, asked, err)
	}
	return at[1].Sub(at[0])
}

func TestRepeatsAreJittered(t *testing.T) {
	for name, how := range first {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for random, want := range map[float64]time.Duration{0: how.pause, 0.5: how.pause + how.pause/4} {
					if got := paused(t, name, func(c *Client) { c.random = func() float64 { return random } }); got != want {
						t.Errorf("at %v it waits %s, want %s", random, got, want)
					}
				}
				one, other := paused(t, name, func(*Client) {}), paused(t, name, func(*Client) {})
				if one == other || min(one, other) < how.pause || max(one, other) >= how.pause*3/2 {
					t.Errorf("two clients wait %s and %s", one, other)
				}
			})
		})
	}
}
