package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.Close())
	return b.Bytes()
}

func TestErrorResponses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		code   int
		kind   error
		text   string // URL stands for the URL of the server
	}{
		{"unreadable", answering(400, `{"detail": "the body is not JSON"}`), 400, problem.Malformed, "the body is not JSON"},
		{"unauthorized", answering(401, `{"detail": "who asks?"}`), 401, problem.Unauthorized, "who asks?"},
		{"forbidden", answering(403, `{"detail": "not yours"}`), 403, problem.Forbidden, "not yours"},
		{"not found", answering(404, `{"detail": "Task abc not found"}`), 404, problem.NotFound, "Task abc not found"},
		{"conflict", answering(409, `{"detail": "in use"}`), 409, problem.Conflict, "in use"},
		{"too large", answering(413, `{"detail": "too much"}`), 413, problem.TooLarge, "too much"},
		{"invalid", answering(422, `{"detail": "num_nodes: 0"}`), 422, problem.Invalid, "num_nodes: 0"},
		{"too many", answering(429, `{"detail": "slow down"}`), 429, problem.Unavailable, "slow down"},
		{"away", answering(503, `{"detail": "the log is away"}`), 503, problem.Unavailable, "the log is away"},
		{"a fault", answering(500, `{"detail": "oops"}`), 500, nil, "oops"},
		{"a page of a proxy", answering(502, `<html>Bad Gateway</html>`), 502, nil, "the API server at URL answered 502 Bad Gateway"},
		{"a detail that is no sentence", answering(422, `{"detail": [{"type": "missing"}]}`), 422, problem.Invalid, "the API server at URL answered 422 Unprocessable Entity"},
		{"no body", answering(404, ``), 404, problem.NotFound, "the API server at URL answered 404 Not Found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, tt.handle)
			_, err := c.Task(t.Context(), "abc")
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != tt.code {
				t.Fatalf("error %#v, want code %d", err, tt.code)
			}
			if got := strings.ReplaceAll(err.Error(), c.url, "URL"); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("%v is not of kind %v", err, tt.kind)
			}
			if tt.kind == nil && len(e.Unwrap()) > 0 {
				t.Errorf("%v is of kind %v, want none", err, e.Unwrap())
			}
		})
	}
}

func TestRejectedTasksAreAnError(t *testing.T) {
	c := serve(t, answering(http.StatusOK, `{"results": [{"task_id": "t1"}, {"code": 422, "detail": "run: empty", "reason": "Invalid", "field": "run"}, {"code": 409, "detail": "key: used"}]}`))
	results, err := c.SubmitAll(t.Context(), make([]task.Spec, 3))
	rejected, ok := errors.AsType[*RejectedError](err)
	if !ok || len(results) != 3 || results[0].ID != "t1" {
		t.Fatalf("results %+v, error %v", results, err)
	}
	want := map[int]*Error{1: {Code: 422, Detail: "run: empty", Reason: "Invalid", Field: "run"}, 2: {Code: 409, Detail: "key: used"}}
	if diff := cmp.Diff(want, rejected.Items, cmpopts.IgnoreUnexported(Error{})); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
	if want := "the server rejected 2 of 3 tasks; task 2: run: empty"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if !errors.Is(err, problem.Invalid) || !errors.Is(err, problem.Conflict) || errors.Is(err, problem.NotFound) {
		t.Errorf("the kinds of %v are wrong", err)
	}
}

func TestErrorHoldsRetryAfterAndRequestID(t *testing.T) {
	c := serve(t, answering(503, `{"detail": "full"}`, "Retry-After", "70", "X-Request-Id", "r1"))
	_, err := c.Tasks(t.Context(), false)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.RetryAfter != 70*time.Second || e.RequestID != "r1" {
		t.Errorf("error %#v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-3": 0, "soon": 0, "Sun, 06 Nov 1994 08:49:37 GMT": 0} {
			if got := retryAfter(value); got != want {
				t.Errorf("retryAfter(%q) = %s, want %s", value, got, want)
			}
		}
		date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		if got := retryAfter(date); got != time.Hour {
			t.Errorf("retryAfter(in an hour) = %s", got)
		}
	})
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	_, err := New(strings.TrimPrefix(server.URL, "http://")+"//", "ann").Tasks(t.Context(), false)
	if !errors.Is(err, problem.Unavailable) {
		t.Errorf("%v is not of kind unavailable", err)
	}
	if want := "cannot reach the API server at " + server.URL + ": dial tcp "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q, want it to begin with %q", err, want)
	}
}

func TestUnusableURL(t *testing.T) {
	for url, want := range map[string]string{"http://[": "not usable", "ftp://example.com": "unsupported protocol", "http://": "has no host", "https:///x": "has no host"} {
		if _, err := New(url, "ann").Tasks(t.Context(), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", url, err, want)
		}
	}
	if c := New("", "ann"); c.url != "http://localhost:8000" {
		t.Errorf("without a URL: %s", c.url)
	}
}

func TestAnswerThatIsNotJSON(t *testing.T) {
	c := serve(t, answering(http.StatusOK, "<html>welcome</html>"))
	_, err := c.Tasks(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), "the answer of "+c.url+" to GET /tasks is not as documented") {
		t.Errorf("error %v", err)
	}
}

// silent returns a handler that does not respond until the request is canceled, and a
// channel that is closed when the request arrives.
func silent() (http.HandlerFunc, <-chan struct{}) {
	asked := make(chan struct{})
	return func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}, asked
}

func TestTimeoutWithoutAnswer(t *testing.T) {
	handle, _ := silent()
	c := serve(t, handle)
	c.timeout = 20 * time.Millisecond
	_, err := c.Tasks(t.Context(), false)
	want := "cannot reach the API server at " + c.url + ": no answer within 20ms"
	if err == nil || err.Error() != want || !errors.Is(err, problem.Unavailable) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestCancelledRequest(t *testing.T) {
	handle, asked := silent()
	c := serve(t, handle)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := c.Tasks(ctx, false); !errors.Is(err, context.Canceled) || errors.Is(err, problem.Unavailable) {
		t.Errorf("error %v, want the cancellation", err)
	}
}
