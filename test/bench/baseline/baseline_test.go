package baseline

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// asked runs a baseline until the test ends.
func asked(t *testing.T) func(Request) Reply {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), requests, answers) }()
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	lines := bufio.NewReader(out)
	return func(r Request) (reply Reply) {
		t.Helper()
		if err := json.NewEncoder(in).Encode(r); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &reply); err != nil {
			t.Fatal(err)
		}
		return reply
	}
}

func TestFiberReturnsWhatWasRecorded(t *testing.T) {
	ask := asked(t)
	route := Route{Path: "/submit", Decode: true, Status: 200, Header: [][2]string{{"X-Request-Id", "abc"}}, Body: []byte(`{"task_id":"a"}`)}
	reply := ask(Request{Serve: []Route{route, {Path: "/unchanged", Status: 304}}})
	if reply.Error != "" {
		t.Fatal(reply.Error)
	}
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		answer                   string
	}{
		{"a good body", http.MethodPost, "/submit", `{"run":"true","num_nodes":2}`, 200, `{"task_id":"a"}`},
		{"no run", http.MethodPost, "/submit", `{"setup":"true"}`, 422, `{"detail":"run: is empty"}`},
		{"no nodes", http.MethodPost, "/submit", `{"run":"true","num_nodes":0}`, 422, `{"detail":"num_nodes: 0 is not at least 1"}`},
		{"nothing changed", http.MethodGet, "/unchanged", "", 304, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+reply.Address+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.status || string(text) != tt.answer {
				t.Errorf("the answer is %d %q, %v; want %d %q", response.StatusCode, text, err, tt.status, tt.answer)
			}
			if tt.status == 200 && response.Header.Get("X-Request-Id") != "abc" {
				t.Errorf("the answer lacks a header: %v", response.Header)
			}
		})
	}
}

func TestStreamTakesWhatItIsGiven(t *testing.T) {
	ask := asked(t)
	reply := ask(Request{Publish: &Publish{Dir: t.TempDir(), Size: 100, Time: time.Millisecond}})
	if reply.Error != "" || reply.Count < 1 || reply.P50 <= 0 || reply.P99 < reply.P50 {
		t.Errorf("publish: %+v", reply)
	}
	reply = ask(Request{Store: &Store{Dir: t.TempDir(), Items: []byte(`[{"run":"a"},{"run":"b"}]`), Each: 10}})
	if reply.Error != "" || reply.Count != 2 || reply.Took <= 0 {
		t.Errorf("store: %+v", reply)
	}
	if reply = ask(Request{Store: &Store{Dir: t.TempDir(), Items: []byte(`[{"run":" "}]`), Each: 10}}); !strings.Contains(reply.Error, "run: is empty") {
		t.Errorf("store of what is not valid: %+v", reply)
	}
	if reply = ask(Request{}); reply.Error == "" {
		t.Error("a request for nothing is answered")
	}
}
