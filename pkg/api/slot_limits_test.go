package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/task"
)

// narrow dials with a small receive buffer, so that the server can send little to a client
// that does not read.
var narrow = net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
	return errors.Join(c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }), err)
}}

// hold sends the same incomplete request on n connections, which stay open until the test
// ends. hold returns how often each status came first.
func (s *served) hold(n int, request string) map[int]int {
	s.t.Helper()
	var mu sync.Mutex
	var senders sync.WaitGroup
	codes := map[int]int{}
	for range n {
		senders.Go(func() {
			conn, err := narrow.DialContext(s.t.Context(), "tcp", s.address)
			if err != nil {
				s.t.Error(err)
				return
			}
			s.t.Cleanup(func() { _ = conn.Close() })
			if _, err := io.WriteString(conn, request); err != nil {
				s.t.Error(err)
				return
			}
			status, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
			code := 0
			if _, scanned := fmt.Sscanf(status, "HTTP/1.1 %d", &code); err != nil || scanned != nil {
				s.t.Errorf("status %q: %v", status, errors.Join(err, scanned))
			}
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	senders.Wait()
	return codes
}

// mallory returns the header of a request of a user who takes as many slots as possible.
func mallory(route, headers string) string {
	return route + " HTTP/1.1\r\nHost: localhost\r\nX-User: mallory\r\n" + headers + "\r\n"
}

// TestOneUserDoesNotBlockOthers checks that other users get slots, however many slots one
// user holds.
func TestOneUserDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s, _, _ := storedWith(t, func(c *Config) {
		c.Uploads.Limit = 16 << 20
		c.Slots = SlotLimits{Downloads: slots.Limit{Total: 16, PerUser: 8}, Uploads: slots.Limit{Total: 16, PerUser: 8}, Events: slots.Limit{Total: 16, PerUser: 8}, Logs: slots.Limit{Total: 16, PerUser: 8}, BatchBytes: slots.Limit{Total: 1 << 20, PerUser: 512 << 10}}
	})
	s.tail = func(ctx context.Context, _ task.LogOptions, w *bufio.Writer) error {
		_, _ = w.WriteString("line\n")
		_ = w.Flush()
		<-ctx.Done()
		return ctx.Err()
	}
	sum, small := s.upload(noise(12<<20), userHeader, "mallory"), s.upload("small", userHeader, "bob")
	id, other := s.submit(`{"run":"true"}`, userHeader, "mallory"), s.submit(`{"run":"true"}`, userHeader, "bob")
	const expects = "Expect: 100-continue\r\n"
	for _, tt := range []struct {
		name    string
		held    string
		n       int // requests; those beyond the share of a user are rejected at once
		code    int // status of each request that has a slot
		other   [3]string
		streams bool // the request of the other user is a stream too
	}{
		{"downloads", mallory("GET /uploads/"+sum, ""), 8, 200, [3]string{"GET", "/uploads/" + small}, false},
		{"uploads", mallory("PUT /uploads/"+sumOf("never"), expects+"Content-Length: 5000000\r\n"), 8, 100, [3]string{"PUT", "/uploads/" + sumOf("other"), "other"}, false},
		{"event streams", mallory("GET /events", "Accept: text/event-stream\r\n"), 12, 200, [3]string{"GET", "/events", "Accept: text/event-stream\r\n"}, true},
		{"log streams", mallory("GET /tasks/"+id+"/logs", ""), 12, 200, [3]string{"GET", "/tasks/" + other + "/logs"}, true},
		{"batches", mallory("POST /tasks/batch", expects+"Content-Length: 5000000\r\n"), 8, 100, [3]string{"POST", "/tasks/batch", `[{"run":"true"}]`}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			held := s.hold(tt.n, tt.held)
			if held[tt.code] != 8 || held[429] != tt.n-8 {
				t.Errorf("one user got %v", held)
			}
			if tt.streams {
				if got := s.hold(1, strings.ReplaceAll(mallory(tt.other[0]+" "+tt.other[1], tt.other[2]), "mallory", "bob")); got[200] != 1 {
					t.Errorf("another user got %v", got)
				}
				return
			}
			s.send(tt.other[0], tt.other[1], tt.other[2], userHeader, "bob").wantOK(t)
		})
	}
}

// TestBatchesInMemoryAreBounded checks that the bytes of batches in memory count against
// the share of their user.
func TestBatchesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	s, _, _ := storedWith(t, func(c *Config) {
		c.Slots.BatchBytes = slots.Limit{Total: 8 * submission.MemoryStep, PerUser: 4 * submission.MemoryStep}
	})
	batch := "[" + strings.Repeat(" ", 5*submission.MemoryStep) + `{"run":"true"}]`
	got := s.send(http.MethodPost, batchPath, batch)
	got.wantError(t, 429, "you have 262144 bytes of batches in memory")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if b := s.send(http.MethodPost, batchPath, batch[2*submission.MemoryStep:], userHeader, "bob"); b.StatusCode != 400 {
		t.Errorf("%d %s", b.StatusCode, b.body) // the batch is read and is not an array
	}
	if in, waiting := s.server.slots.batchBytes.Count(); in != 0 || waiting != 0 {
		t.Errorf("%d bytes stay taken, %d wait", in, waiting)
	}
}

// TestManyDownloadsAtOnce checks that many nodes of one task can fetch its files at once,
// while other users submit tasks.
func TestManyDownloadsAtOnce(t *testing.T) {
	t.Parallel()
	nodes := 64
	if testing.Short() {
		nodes = 8
	}
	s, _, connections := storedWith(t, func(c *Config) { c.Uploads.Limit = 8 << 20 })
	content := noise(4 << 20) // the attack tests fetch larger files
	sum := s.upload(content)
	id := s.submit(submissionBody(sum))
	var pods sync.WaitGroup
	for range nodes {
		pods.Go(func() {
			answer, err := s.do("GET", "/tasks/"+id+"/files/"+sum, nil, userHeader, "-", "Authorization", "Bearer "+sealer.UploadToken(id))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			hash := sha256.New()
			n, err := io.Copy(hash, answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK || hex.EncodeToString(hash.Sum(nil)) != sum {
				t.Errorf("%d, %d bytes of %d: %v", answer.StatusCode, n, len(content), err)
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); pods.Wait() }()
	for submitted := 0; ; submitted++ {
		s.send(http.MethodPost, "/tasks/submit", `{"run":"true"}`, userHeader, "bob").wantOK(t)
		select {
		case <-done:
			for i, nc := range connections {
				if n := nc.Stats().Reconnects; n > 0 {
					t.Errorf("connection %d to NATS was lost %d times", i, n)
				}
			}
			t.Logf("%d tasks were submitted meanwhile", submitted)
			return
		default:
		}
	}
}
