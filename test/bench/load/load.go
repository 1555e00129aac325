// Package load puts load on an HTTP server with wrk and parses the output of wrk.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Spec is a load. The requests are sent repeatedly in their order.
type Spec struct {
	URL         string // http://host:port
	Requests    []Request
	Connections int
	Time        time.Duration // whole seconds
}

// A Request is one HTTP request.
type Request struct {
	Method string // empty means GET
	Path   string
	Header map[string]string
	Body   string
}

// A Result is the measurements of a load.
type Result struct {
	Rate     float64 // requests per second
	Requests int
	P50, P99 time.Duration
}

// Run runs a load. An answer other than 2xx or 3xx is an error, and so is a broken
// connection.
func Run(ctx context.Context, s Spec) (Result, error) {
	script, err := os.CreateTemp("", "k8s-cli-bench-*.lua")
	if err != nil {
		return Result{}, fmt.Errorf("load: %w", err)
	}
	defer os.Remove(script.Name())
	_, err = script.WriteString(lua(s.Requests))
	if err = errors.Join(err, script.Close()); err != nil {
		return Result{}, fmt.Errorf("load: %w", err)
	}
	seconds := max(int(s.Time.Seconds()), 1)
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(s.Connections), fmt.Sprintf("-d%ds", seconds), "--latency",
		"-s", filepath.Clean(script.Name()), s.URL)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return Result{}, fmt.Errorf("wrk: %w: %s", err, strings.TrimSpace(complaints.String()))
	}
	result, err := parse(string(out))
	if err != nil {
		return Result{}, fmt.Errorf("wrk on %s%s: %w", s.URL, s.Requests[0].Path, err)
	}
	return result, nil
}

// lua returns a script with which wrk sends the requests in turn. The script formats all
// requests before the first one is sent.
func lua(requests []Request) string {
	var b strings.Builder
	b.WriteString("local all, n = {}, 0\nfunction init(args)\n")
	for _, r := range requests {
		method := r.Method
		if method == "" {
			method = "GET"
		}
		fmt.Fprintf(&b, "all[#all + 1] = wrk.format(%s, %s, {", quoted(method), quoted(r.Path))
		for name, value := range r.Header {
			fmt.Fprintf(&b, "[%s]=%s,", quoted(name), quoted(value))
		}
		b.WriteString("}")
		if r.Body != "" {
			b.WriteString(", " + quoted(r.Body))
		}
		b.WriteString(")\n")
	}
	b.WriteString("end\nfunction request()\nn = n % #all + 1\nreturn all[n]\nend\n")
	return b.String()
}

// quoted returns s as a string literal of Lua that preserves every byte.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%03d", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
