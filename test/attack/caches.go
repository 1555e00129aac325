package main

import (
	"fmt"
	"strings"
)

// cacheAttacks check that a shared cache cannot give one user's answer to another user, and
// that a browser does not interpret text as HTML.
func cacheAttacks() (all []attack) {
	private := want{"Cache-Control with private and no-store or no-cache, Vary with Authorization and X-User, nosniff", func(a answer) bool {
		control, vary := strings.ToLower(strings.Join(a.header.Values("Cache-Control"), ",")), strings.ToLower(strings.Join(a.header.Values("Vary"), ","))
		return a.answers > 0 && (strings.Contains(control, "no-store") || strings.Contains(control, "private") && strings.Contains(control, "no-cache")) &&
			strings.Contains(control, "private") && strings.Contains(vary, "authorization") && strings.Contains(vary, "x-user") && a.header.Get("X-Content-Type-Options") == "nosniff"
	}}
	add := func(r request, user string) {
		name := fmt.Sprintf("%s %s %s %s%s", user, r.method, r.path, strings.Join(r.header, " "), r.body)
		if user == "" {
			all = append(all, ofAnn("nobody"+name, byHeader, r, private))
			return
		}
		all = append(all, ofAs(name, byHeader, user, r, private))
	}
	for _, path := range []string{
		"/whoami", "/tasks", "/tasks/{task}", "/tasks/{task}/spec", "/tasks/{task}/events", "/tasks/{task}/logs?follow=false", "/uploads", "/uploads/{sum}", "/volumes", "/volumes/{volume}", "/volumes/{volume}/events", "/events",
		"/tasks?limit=x", "/nowhere", "/tasks/stop", "/tasks?all_users=maybe",
	} {
		add(request{method: "GET", path: path}, "ann")
		add(request{method: "GET", path: path}, "")
	}
	for _, path := range []string{"/tasks", "/tasks/{task}", "/uploads/{sum}"} {
		add(request{method: "HEAD", path: path}, "ann")
		add(request{method: "GET", path: path, header: []string{"Accept-Encoding", "gzip"}}, "ann")
	}
	add(request{method: "GET", path: "/tasks/{task}", header: []string{"If-None-Match", "{etag}"}}, "ann")
	add(request{method: "GET", path: "/tasks/{task}/files/{sum}"}, "ann")
	add(request{method: "GET", path: "/tasks/{task}/outputs/0"}, "ann")
	add(request{method: "POST", path: "/tasks/submit", body: task14}, "ann")
	add(request{method: "POST", path: "/tasks/submit", body: "{"}, "ann")
	add(request{method: "POST", path: "/tasks/preview", body: task14}, "ann")
	add(request{method: "POST", path: "/tasks/batch", body: "[" + task14 + "]"}, "ann")
	add(request{method: "POST", path: "/tasks/stop"}, "dora")
	add(request{method: "POST", path: "/volumes/create", body: `{"name":"v","size":"x"}`}, "ann")
	add(request{method: "PATCH", path: "/tasks"}, "ann")
	nosniff := want{"nosniff", func(a answer) bool { return a.answers > 0 && a.header.Get("X-Content-Type-Options") == "nosniff" }}
	for _, path := range []string{"/", "/healthz", "/readyz", "/auth", "/metrics", "/openapi.json", "/docs"} {
		all = append(all, call("public "+path, byHeader, request{method: "GET", path: path}, nosniff))
	}
	return append(all, raw("a head that cannot be read", byHeader, "GET /tasks HTTP/1.1\r\nHost: {host}\r\nContent-Length: x\r\n\r\n", nosniff))
}
