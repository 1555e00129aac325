// Package load puts requests on an HTTP server with wrk and reads what wrk says.
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

// A Spec is what to ask, again and again. The requests are sent in turn.
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

// A Result is what came of it.
type Result struct {
	Rate     float64 // requests a second
	Requests int
	P50, P99 time.Duration
}

// Run asks for as long as s says. An answer that is neither 2xx nor 3xx is an
// error, and so is a connection that breaks.
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

// lua returns a script that has wrk send the requests in turn, made ready
// before the first is sent.
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

// quoted returns s as a string of Lua, every byte as it is.
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
