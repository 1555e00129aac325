package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/bench/baseline"
	"k8s-cli/test/bench/load"
	"k8s-cli/test/testkit"
)

var asker = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}, Timeout: 5 * time.Minute}

// ask sends one request and returns the answer.
func ask(ctx context.Context, url string, r load.Request) (testkit.Answer, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	var header []string
	for name, value := range r.Header {
		header = append(header, name, value)
	}
	a, err := testkit.Send(ctx, asker, testkit.Request{Method: method, URL: url + r.Path, Body: []byte(r.Body), Header: header})
	if err == nil && a.Code >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s", method, r.Path, a)
	}
	return a, err
}

// ofTheTransport are the headers that every HTTP server sets itself.
var ofTheTransport = []string{"Date", "Content-Length", "Connection", "Server"}

// record returns the server's answer to a request as a route, so that bare Fiber can return
// the same answer.
func record(ctx context.Context, url string, r load.Request, path string) (baseline.Route, error) {
	got, err := ask(ctx, url, r)
	if err != nil {
		return baseline.Route{}, fmt.Errorf("record an answer: %w", err)
	}
	if len(got.Body) == 0 {
		return baseline.Route{}, fmt.Errorf("record %s %s: the server gave no answer", r.Method, r.Path)
	}
	route := baseline.Route{Path: path, Status: got.Code, Body: got.Body, Decode: r.Method == http.MethodPost}
	for name, values := range got.Header {
		if !slices.Contains(ofTheTransport, name) {
			route.Header = append(route.Header, [2]string{name, values[0]})
		}
	}
	slices.SortFunc(route.Header, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return route, nil
}

// serve makes the baseline serve these routes.
func (b *bench) serve(routes ...baseline.Route) (url string, err error) {
	reply, err := b.child.Ask(baseline.Request{Serve: routes})
	return "http://" + reply.Address, err
}

// spec returns a load with this many connections.
func (b *bench) spec(url string, connections int, requests ...load.Request) load.Spec {
	return load.Spec{URL: url, Requests: requests, Connections: connections, Time: time.Duration(b.seconds) * time.Second}
}

// moved returns requests with another path.
func moved(requests []load.Request, path string) []load.Request {
	all := slices.Clone(requests)
	for i := range all {
		all[i].Path = path
	}
	return all
}

func asUser(user string) map[string]string { return map[string]string{"X-User": user} }

func submission(user string) load.Request {
	return load.Request{
		Method: http.MethodPost, Path: "/tasks/submit", Body: body,
		Header: map[string]string{"X-User": user, "Content-Type": "application/json"},
	}
}
