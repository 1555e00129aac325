package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A logged is one log line of a node.
type logged struct {
	rank int
	at   time.Time
	text string
}

// someLog returns a log of several nodes, with equal times and lines out of order, as any
// pod of the server may send it.
func someLog(r *rand.Rand, nodes, lines int) (log []logged) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range lines {
		if r.IntN(3) > 0 {
			now = now.Add(time.Duration(r.IntN(400_000_000)))
		}
		text := fmt.Sprintf("line %d\r", i%7)
		if r.IntN(10) == 0 {
			text = strings.Repeat("x", 100_000)
		}
		log = append(log, logged{r.IntN(nodes), now.Add(-time.Duration(r.IntN(100_000_000))), text})
	}
	return log
}

// sends writes the requested part of a log, with times.
func sends(t *testing.T, w io.Writer, r *http.Request, log []logged, nodes int) {
	from := map[int]int64{}
	for part := range strings.SplitSeq(r.Header.Get("X-Log-Resume"), ",") {
		if rank, second, found := strings.Cut(part, "@"); found {
			n, _ := strconv.Atoi(rank)
			from[n], _ = strconv.ParseInt(second, 10, 64)
		} else if part != "start" {
			t.Errorf("resume %q", part)
		}
	}
	for _, l := range log {
		if l.at.Unix() < from[l.rank] {
			continue
		}
		if nodes > 1 {
			fmt.Fprintf(w, "node-%d | ", l.rank)
		}
		fmt.Fprintf(w, "%s %s\n", l.at.Format(time.RFC3339Nano), l.text)
	}
}

func plain(log []logged, nodes int, stamps bool) string {
	var b strings.Builder
	for _, l := range log {
		if nodes > 1 {
			fmt.Fprintf(&b, "node-%d | ", l.rank)
		}
		if stamps {
			b.WriteString(l.at.Format(time.RFC3339Nano) + " ")
		}
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// byNode groups the lines by node and keeps their order within each node.
func byNode(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[:min(len(a), 6)], b[:min(len(b), 6)]) })
	return strings.Join(lines, "")
}

// TestLogResumesAfterABreak checks that a log is complete after any number of
// interruptions, even if another pod of the server sends the lines of the nodes in another
// order.
func TestLogResumesAfterABreak(t *testing.T) {
	for _, tt := range []struct {
		nodes  int
		stamps bool
	}{{1, false}, {1, true}, {3, false}, {3, true}} {
		t.Run(fmt.Sprintf("%d nodes, times %t", tt.nodes, tt.stamps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(tt.nodes)))
				log, asked := someLog(random, tt.nodes, 60), 0
				c := inMemory(func(w http.ResponseWriter, r *http.Request) {
					asked++
					if asked%3 == 2 {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					w.Header().Set("X-Log-Resumable", "true")
					var all bytes.Buffer
					sends(t, &all, r, log, tt.nodes)
					if asked > 8 {
						_, _ = w.Write(all.Bytes())
						return
					}
					_, _ = w.Write(all.Bytes()[:random.IntN(all.Len())])
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				})
				var got bytes.Buffer
				must.Succeed(t, c.Logs(t.Context(), "abc", LogOptions{Timestamps: tt.stamps}, &got))
				if want := plain(log, tt.nodes, tt.stamps); byNode(got.String()) != byNode(want) {
					t.Errorf("after %d connections %d bytes came, want %d", asked, got.Len(), len(want))
				}
			})
		})
	}
}

// TestAnInterruptedLogIsReportedOnce checks that a reader hears of each interruption that lasts.
func TestAnInterruptedLogIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			if asked%20 != 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("X-Log-Resumable", "true")
			_, _ = fmt.Fprintf(w, "2026-01-02T03:04:%02dZ line\n", asked)
			_ = http.NewResponseController(w).Flush()
			if asked < 40 {
				panic(http.ErrAbortHandler)
			}
		})
		c.timeout = time.Hour
		var causes []error
		o := LogOptions{Interrupted: func(cause error) { causes = append(causes, cause) }}
		if err := c.Logs(t.Context(), "abc", o, io.Discard); err != nil || len(causes) != 2 {
			t.Errorf("causes of two interruptions: %v, %v", causes, err)
		}
	})
}

func TestLogThatCannotResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaks := func(code int) func(http.ResponseWriter, *http.Request) {
			asked := false
			return func(w http.ResponseWriter, _ *http.Request) {
				if asked {
					w.WriteHeader(code)
					_, _ = io.WriteString(w, `{"detail": "Task abc not found"}`)
					return
				}
				asked = true
				w.Header().Set("X-Log-Resumable", "true")
				_, _ = io.WriteString(w, "2026-01-02T03:04:05Z one\n2026-01-02T03:0")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}
		for _, tt := range []struct {
			code int
			want error
		}{{http.StatusNotFound, problem.NotFound}, {http.StatusServiceUnavailable, ErrBrokenLog}} {
			c := inMemory(breaks(tt.code))
			c.timeout = time.Millisecond
			var got bytes.Buffer
			if err := c.Logs(t.Context(), "abc", LogOptions{}, &got); !errors.Is(err, tt.want) || got.String() != "one\n" {
				t.Errorf("%d: %q, %v", tt.code, got.String(), err)
			}
		}
	})
}

func TestALineWithoutItsTimeIsAnError(t *testing.T) {
	for _, line := range []string{"hello\n", "node-x | 2026-01-02T03:04:05Z x\n", "node-1 2026-01-02T03:04:05Z x\n", "\n", "node-1 | x\n"} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Log-Resumable", "true")
			_, _ = io.WriteString(w, line)
		})
		if err := c.Logs(t.Context(), "abc", LogOptions{}, io.Discard); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

// A quietLog is the body of a response whose path swallows everything after the text.
type quietLog struct {
	text io.Reader
	ctx  context.Context //nolint:containedctx // of the request
}

func (q quietLog) Read(p []byte) (int, error) {
	if n, err := q.text.Read(p); err == nil {
		return n, nil
	}
	<-q.ctx.Done()
	return 0, q.ctx.Err()
}

func (quietLog) Close() error { return nil }

// A pinging reader returns a line, and an empty line every 15 seconds.
type pinging struct {
	line  io.Reader
	pings int
}

func (r *pinging) Read(p []byte) (int, error) {
	if n, err := r.line.Read(p); err == nil {
		return n, nil
	}
	if r.pings--; r.pings < 0 {
		return 0, io.EOF
	}
	time.Sleep(15 * time.Second)
	return copy(p, "\n"), nil
}

// TestSilentLogIsResumed checks that the client asks again on a path that swallows data, and gives up
// if the path stays silent.
func TestSilentLogIsResumed(t *testing.T) {
	const first, last = "2026-01-02T03:04:05Z one\n", "2026-01-02T03:04:06Z two\n"
	for name, tt := range map[string]struct {
		silent    int // request on which the path swallows data
		comesBack bool
	}{
		"the path works again":           {1, true},
		"the path stays silent":          {1, false},
		"the path swallows all requests": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				c := over(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("X-Log-Ping") != "true" {
						t.Error("the client asks for no signs of life")
					}
					a := answer(http.StatusOK, first+last)
					a.Header.Set("X-Log-Resumable", "true")
					a.Header.Set("X-Log-Ping", "15")
					switch asked++; {
					case asked == tt.silent:
						a.Body = quietLog{&pinging{strings.NewReader(first), 20}, r.Context()}
					case asked == 1 || !tt.comesBack:
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return a, nil
				})
				var got bytes.Buffer
				began := time.Now()
				err := c.Logs(t.Context(), "abc", LogOptions{}, &got)
				if tt.comesBack && (err != nil || got.String() != "one\ntwo\n") ||
					!tt.comesBack && (errors.Is(err, ErrBrokenLog) != (tt.silent == 1) || !strings.Contains(fmt.Sprint(err), "nothing came for 45s")) {
					t.Errorf("%q, %v", got.String(), err)
				}
				if silent := time.Since(began) - time.Duration(tt.silent)*20*15*time.Second; silent > 2*time.Minute {
					t.Errorf("the client waited %s", silent)
				}
			})
		})
	}
}

// TestALogWithoutSignsOfLife checks that a log may be silent for any time if the server promised
// nothing.
func TestALogWithoutSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(func(*http.Request) (*http.Response, error) {
			a := answer(http.StatusOK, "")
			a.Header.Set("X-Log-Resumable", "true")
			late, w := io.Pipe()
			time.AfterFunc(24*time.Hour, func() {
				_, _ = io.WriteString(w, "2026-01-02T03:04:05Z one\n")
				_ = w.Close()
			})
			a.Body = late
			return a, nil
		})
		var got bytes.Buffer
		if err := c.Logs(t.Context(), "abc", LogOptions{}, &got); err != nil || got.String() != "one\n" {
			t.Errorf("%q, %v", got.String(), err)
		}
	})
}
