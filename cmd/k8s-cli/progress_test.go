package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A screen is a terminal that signals its first write.
type screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
	once    sync.Once
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(string(p), "pending") {
		s.once.Do(func() { close(s.written) })
	}
	return s.text.Write(p)
}

// TestProgressUntilTheLogBegins checks that a terminal shows what the task waits for
// until its log begins, and that a file does not.
func TestProgressUntilTheLogBegins(t *testing.T) {
	for _, live := range []bool{true, false} {
		talk, out := &screen{written: make(chan struct{})}, &bytes.Buffer{}
		pending := task.Status{ID: "a", Phase: task.Pending, Metadata: task.Metadata{Reason: "Unschedulable", Message: "no node has\n4 CPUs"}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/logs") {
				if live {
					select {
					case <-talk.written:
					case <-r.Context().Done():
					}
				}
				_, _ = io.WriteString(w, "out\n")
				return
			}
			_ = json.NewEncoder(w).Encode(pending)
		}))
		c := client.New(server.URL, "ann")
		e := &env{
			Console:    console.Console{Out: console.NewOutput(out), ErrOut: talk, ErrStyle: show.Style{Live: live, Width: 30}},
			interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		}
		err := follow(t.Context(), e, c, []string{"a"}, logging{})
		if known, ok := err.(*exit.Error); !ok || known.Code != exit.TaskNotFinished { //nolint:errorlint // it is not wrapped
			t.Errorf("live %t: %v", live, err)
		}
		want := "Tailing logs for task a...\nPress Ctrl+C to stop tailing logs\n"
		if live {
			want += "\r\x1b[Kpending: Unschedulable: no n…\r\x1b[K"
		}
		want += "Task a is not finished, it is pending: Unschedulable: no node has 4 CPUs\n"
		if got := talk.text.String(); got != want || out.String() != "out\n" {
			t.Errorf("live %t: talk %q, want %q; output %q", live, got, want, out.String())
		}
		c.Close()
		server.Close()
	}
}

// TestReasonsWithoutATerminal checks that each new reason why a task waits has one line.
func TestReasonsWithoutATerminal(t *testing.T) {
	reasons := make(chan string, 4)
	for _, reason := range []string{"Unschedulable", "Unschedulable", "ContainerCreating", ""} {
		reasons <- reason
	}
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := task.Status{ID: "a", Phase: task.Pending}
		if s.Metadata.Reason = <-reasons; s.Metadata.Reason == "" {
			s.Phase = task.Running
			stop()
		}
		_ = json.NewEncoder(w).Encode(s)
	}))
	defer server.Close()
	c := client.New(server.URL, "ann")
	defer c.Close()
	var talk bytes.Buffer
	p := &progress{screen: &console.Console{ErrOut: &talk}, pause: 1}
	p.runPlain(ctx, c, "a")
	if want := "Task a is pending: Unschedulable\nTask a is pending: ContainerCreating\n"; talk.String() != want {
		t.Errorf("it said %q, want %q", talk.String(), want)
	}
}

func TestProgressOfATask(t *testing.T) {
	at := func(hosts ...string) (nodes []task.Node) {
		for _, h := range hosts {
			nodes = append(nodes, task.Node{Host: h})
		}
		return nodes
	}
	for _, tt := range []struct {
		phase task.Phase
		m     task.Metadata
		want  string
	}{
		{task.Pending, task.Metadata{Position: 3, Reason: task.ReasonBacklog, Message: "number 3 of 9"}, "accepted: number 3 of 9"},
		{task.Pending, task.Metadata{Nodes: at("")}, "pending: accepted"},
		{task.Pending, task.Metadata{Nodes: at("house-1")}, "pending: scheduled on house-1"},
		{task.Pending, task.Metadata{Nodes: at("house-1", "")}, "pending: 1 of 2 nodes scheduled"},
		{task.Pending, task.Metadata{Nodes: at("house-1"), Reason: "ContainerCreating", Message: "image x is being pulled"}, "pending: ContainerCreating: image x is being pulled"},
		{task.Running, task.Metadata{Nodes: at("house-1")}, "running"},
		{task.Running, task.Metadata{Nodes: at("house-1"), Reason: "JobSuspended"}, "running: JobSuspended"},
	} {
		if got := standing(task.Status{Phase: tt.phase, Metadata: tt.m}); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.phase, fmt.Sprint(tt.m.Reason), got, tt.want)
		}
	}
}
