package logline

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

const log = "node-0 | step 1\nnode-1 | step 1\nnode-0 | node-7 warning \x00\xff\n\nno prefix\nlast"

func all(expressions ...string) (all []*regexp.Regexp) {
	for _, e := range expressions {
		all = append(all, regexp.MustCompile(e))
	}
	return all
}

func TestLines(t *testing.T) {
	paint := func(rank int, prefix string) string { return fmt.Sprintf("<%d %s>", rank, prefix) }
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"nothing":        {Options{}, log},
		"grep":           {Options{Grep: all("^step", "last$")}, "node-0 | step 1\nnode-1 | step 1\nlast"},
		"not the prefix": {Options{Grep: all("node-[01]")}, ""},
		"exclude":        {Options{Exclude: all("step", "^$")}, "node-0 | node-7 warning \x00\xff\nno prefix\nlast"},
		"both":           {Options{Grep: all("t"), Exclude: all("1", "prefix")}, "last"},
		"prefix":         {Options{Prefix: "a | ", Grep: all("last|no p")}, "a | no prefix\na | last"},
		"colours":        {Options{Prefix: "a | ", Paint: paint, Grep: all("1|no p")}, "a | <0 node-0 | >step 1\na | <1 node-1 | >step 1\na | no prefix\n"},
	} {
		for range 20 { // however the text is divided
			var b strings.Builder
			w := New(&b, tt.options)
			for rest := log; rest != ""; {
				n := 1 + rand.IntN(len(rest))
				if got, err := io.WriteString(w, rest[:n]); got != n || err != nil {
					t.Fatalf("%s: wrote %d of %d bytes, %v", name, got, n, err)
				}
				rest = rest[n:]
			}
			if err := w.Close(); err != nil || b.String() != tt.want {
				t.Fatalf("%s: %q, %v, want %q", name, b.String(), err, tt.want)
			}
		}
	}
}

func TestALongLineIsNotCollected(t *testing.T) {
	var b strings.Builder
	w := New(&b, Options{Prefix: "> ", Grep: all("^x"), Exclude: all("y")})
	part := strings.Repeat("x", 1000)
	for range 5000 {
		_, _ = io.WriteString(w, part)
	}
	_, _ = io.WriteString(w, "y\nx\nz\n")
	if len(w.line) > maxLine || b.String() != "> "+strings.Repeat(part, 5000)+"y\n> x\n" {
		t.Errorf("%d bytes are collected, %d were written", len(w.line), b.Len())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestAFailedWriteIsReported(t *testing.T) {
	w := New(full{}, Options{Prefix: "> "})
	if _, err := io.WriteString(w, "a\n"); err == nil {
		t.Error("no error")
	}
	_, _ = io.WriteString(w, "b")
	if w.Close() == nil {
		t.Error("no error of Close")
	}
}
