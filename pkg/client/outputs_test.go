package client

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// breaking serves a part of an archive and breaks the connection after n bytes, or after the end
// of the archive.
func breaking(w http.ResponseWriter, archive []byte, n int) {
	_, _ = w.Write(archive[:min(n, len(archive))])
	if n < len(archive) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestOutputsResume(t *testing.T) {
	archive := make([]byte, 10_000)
	_, _ = rand.Read(archive)
	for name, ranges := range map[string]bool{"the server sends the rest": true, "the server sends the whole archive": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				c := inMemory(func(w http.ResponseWriter, r *http.Request) {
					asked = append(asked, r.Header.Get("Range"))
					w.Header().Set("ETag", `"sum"`)
					w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
					from := 0
					if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && r.Header.Get("If-Range") != `"sum"` {
						t.Errorf("If-Range: %s", r.Header.Get("If-Range"))
					}
					switch {
					case len(asked) == 2:
						w.WriteHeader(http.StatusServiceUnavailable)
						_, _ = io.WriteString(w, `{"reason": "Starting"}`)
						return
					case from > 0 && ranges:
						w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(archive)-1, len(archive)))
						w.WriteHeader(http.StatusPartialContent)
						breaking(w, archive[from:], 3000)
						return
					}
					breaking(w, archive, 3000*len(asked))
				})
				got, err := c.Outputs(t.Context(), "abc", 1)
				must.Succeed(t, err)
				defer got.Body.Close()
				data, err := io.ReadAll(got.Body)
				if err != nil || !bytes.Equal(data, archive) || got.Size != int64(len(archive)) || got.Sum != "sum" {
					t.Errorf("%d bytes of %d, sum %q, %v", len(data), got.Size, got.Sum, err)
				}
				want := []string{"", "bytes=3000-", "bytes=3000-", "bytes=6000-", "bytes=9000-"}
				if !ranges {
					want = []string{"", "bytes=3000-", "bytes=3000-", "bytes=9000-"}
				}
				if !slices.Equal(asked, want) {
					t.Errorf("the client asked for %q, want %q", asked, want)
				}
			})
		})
	}
}

func TestOutputsThatCannotResume(t *testing.T) {
	for _, tt := range []struct {
		name string
		then http.HandlerFunc // the answer to every request but the first
		want error
	}{
		{"another archive", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"other"`)
			_, _ = io.WriteString(w, "other")
		}, ErrOutputsChanged},
		{"the wrong part", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-5/6")
			w.WriteHeader(http.StatusPartialContent)
		}, ErrWrongAnswer},
		{"no archive", answering(http.StatusNotFound, `{"detail": "no outputs"}`), problem.NotFound},
		{"every connection breaks", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"sum"`)
			breaking(w, []byte("archive"), 3)
		}, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				c := inMemory(func(w http.ResponseWriter, r *http.Request) {
					if asked++; asked > 1 {
						tt.then(w, r)
						return
					}
					w.Header().Set("ETag", `"sum"`)
					breaking(w, []byte("archive"), 3)
				})
				got, err := c.Outputs(t.Context(), "abc", 0)
				must.Succeed(t, err)
				defer got.Body.Close()
				data, err := io.ReadAll(got.Body)
				if !errors.Is(err, tt.want) || string(data) != "arc" {
					t.Errorf("%q, %v", data, err)
				}
			})
		})
	}
}
