package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s-cli/pkg/ui"
	"k8s-cli/test/testkit/must"
)

func TestPagesFromDiskWithTheDataOfAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.Header.Get("Origin")+" "+r.URL.Path)
	}))
	defer server.Close()
	target, err := url.Parse(server.URL)
	must.Succeed(t, err)
	site, err := ui.FromDir("../../../pkg/ui/static")
	must.Succeed(t, err)
	pages := httptest.NewServer(handler(site, target))
	defer pages.Close()
	for path, want := range map[string]string{
		"/ui/tasks/abc":         "<!doctype html>",
		"/ui/assets/dev/app.js": "not found",
		"/tasks":                target.Host + " " + server.URL + " /tasks",
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", pages.URL+path, nil)
		must.Succeed(t, err)
		r.Header.Set("Origin", pages.URL)
		got, err := http.DefaultClient.Do(r)
		must.Succeed(t, err)
		body, err := io.ReadAll(got.Body)
		if err != nil || !strings.Contains(strings.ToLower(string(body)), strings.ToLower(want)) {
			t.Errorf("GET %s: %.200q, %v; want %q", path, body, err, want)
		}
		_ = got.Body.Close()
	}
}
