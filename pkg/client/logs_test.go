package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/test/testkit/must"
)

func TestLogsAreBytes(t *testing.T) {
	noise := make([]byte, 300<<10) // neither newlines nor UTF-8 are required
	_, _ = rand.Read(noise)
	for name, log := range map[string][]byte{
		"empty":                  nil,
		"markup and blank lines": []byte("[rank0]: tensor[i]\n\n[/usr/bin]\r\n\x1b[31mred\x1b[0m no newline"),
		"noise":                  noise,
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("Accept-Encoding: %s", got)
				}
				_, _ = w.Write(log)
			})
			var got bytes.Buffer
			must.Succeed(t, c.Logs(t.Context(), "abc", LogOptions{}, &got))
			if !bytes.Equal(got.Bytes(), log) {
				t.Errorf("%d bytes came, %d were sent, and they differ", got.Len(), len(log))
			}
		})
	}
}

func TestLogOptions(t *testing.T) {
	for _, tt := range []struct {
		options LogOptions
		want    string
	}{
		{LogOptions{}, "/tasks/abc/logs"},
		{LogOptions{NoFollow: true}, "/tasks/abc/logs?follow=false"},
		{LogOptions{Tail: new(0)}, "/tasks/abc/logs?tail=0"},
		{LogOptions{Node: new(0), Since: 90 * time.Second}, "/tasks/abc/logs?node=0&since=1m30s"},
		{LogOptions{Tail: new(5), Timestamps: true}, "/tasks/abc/logs?tail=5&timestamps=true"},
	} {
		var got string
		c := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI })
		if err := c.Logs(t.Context(), "abc", tt.options, io.Discard); err != nil || got != tt.want {
			t.Errorf("%+v asked %s, %v, want %s", tt.options, got, err, tt.want)
		}
	}
}

// lines is a writer that sends each write to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestLogsComeAsTheyAreWritten(t *testing.T) {
	var c *Client
	got, next := make(lines), make(chan struct{})
	c = serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, line := range []string{"one\n", "two\n"} {
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
			<-next // sent only after the line has arrived
		}
	})
	c.timeout = time.Nanosecond // the timeout does not apply to logs
	done := make(chan error)
	go func() { done <- c.Logs(t.Context(), "abc", LogOptions{}, got) }()
	for _, want := range []string{"one\n", "two\n"} {
		if line := <-got; line != want {
			t.Errorf("got %q, want %q", line, want)
		}
		next <- struct{}{}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLogsBreakOff(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half a li")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	var got bytes.Buffer
	err := c.Logs(t.Context(), "abc", LogOptions{}, &got)
	if !errors.Is(err, ErrBrokenLog) || !errors.Is(err, io.ErrUnexpectedEOF) || got.String() != "half a li" {
		t.Errorf("got %q and error %v", got.String(), err)
	}
}

func TestLogsAreCancelled(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	got := make(lines, 1)
	go func() {
		<-got
		cancel()
	}()
	if err := c.Logs(ctx, "abc", LogOptions{}, got); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the cancellation", err)
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestLogsOfAFailingWriter(t *testing.T) {
	c := serve(t, answering(http.StatusOK, "one\n"))
	if err := c.Logs(t.Context(), "abc", LogOptions{}, full{}); !errors.Is(err, errFull) || errors.Is(err, ErrBrokenLog) {
		t.Errorf("error %v, want the writer's", err)
	}
}

// TestLogsAreAskedForAgain checks the retries after a broken connection, or a requested
// pause, before the first response.
func TestLogsAreAskedForAgain(t *testing.T) {
	pause := http.Header{"Retry-After": {"3"}}
	for _, tt := range []struct {
		name   string
		answer func(attempt int) (*http.Response, error)
		sent   int
		want   string // part of the error; empty means none
	}{
		{"two connections break", func(attempt int) (*http.Response, error) {
			if attempt < 2 {
				return nil, io.EOF
			}
			return answer(http.StatusOK, "hello\n"), nil
		}, 3, ""},
		{"the server asks for a pause", func(attempt int) (*http.Response, error) {
			if attempt == 0 {
				a := answer(http.StatusServiceUnavailable, "{}")
				a.Header = pause
				return a, nil
			}
			return answer(http.StatusOK, "hello\n"), nil
		}, 2, ""},
		{"every connection breaks", func(int) (*http.Response, error) { return nil, io.EOF }, maxBreaks + 1, "EOF"},
		{"there is no such task", func(int) (*http.Response, error) { return answer(http.StatusNotFound, `{"detail": "no task a"}`), nil }, 1, "no task a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				c := over(func(*http.Request) (*http.Response, error) {
					sent++
					return tt.answer(sent - 1)
				})
				var out strings.Builder
				err := c.Logs(t.Context(), "a", LogOptions{}, &out)
				switch {
				case sent != tt.sent:
					t.Errorf("%d requests were sent, want %d", sent, tt.sent)
				case tt.want == "" && (err != nil || out.String() != "hello\n"):
					t.Errorf("the log is %q, %v", out.String(), err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("the error is %v, want %q in it", err, tt.want)
				}
			})
		})
	}
}
