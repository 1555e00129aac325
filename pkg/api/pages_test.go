package api

import (
	"strings"
	"testing"

	"k8s-cli/pkg/ui"
)

func withPages(c *Config) {
	site, err := ui.New()
	if err != nil {
		panic(err)
	}
	c.Pages = site
}

func TestPagesOfTheDashboard(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withPages)
	page := s.send("GET", "/ui/tasks/a", "", userHeader, "-")
	policy := page.Header.Get("Content-Security-Policy")
	if page.StatusCode != 200 || !strings.HasPrefix(page.body, "<!doctype html>") || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || page.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("%d %v %.60q", page.StatusCode, page.Header, page.body)
	}
	if got := s.send("GET", "/ui/", "", "If-None-Match", page.Header.Get("ETag")); got.StatusCode != 304 || got.body != "" {
		t.Errorf("the same page again: %d %q", got.StatusCode, got.body)
	}
	_, script, _ := strings.Cut(page.body, `src="`)
	script, _, _ = strings.Cut(script, `"`)
	plain := s.send("GET", script, "")
	packed := s.send("GET", script, "", "Accept-Encoding", "gzip, br")
	if !strings.HasPrefix(plain.Header.Get("Content-Type"), "text/javascript") || !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("the script %s: %d %v", script, plain.StatusCode, plain.Header)
	}
	if encoding := packed.Header.Get("Content-Encoding"); encoding != "gzip" && len(plain.body) > 500 {
		t.Errorf("%d bytes with the encoding %q", len(plain.body), encoding)
	}
	s.send("GET", "/ui/assets/dev/none.js", "").wantError(t, 404, "/ui/assets/dev/none.js")
	s.send("GET", "/ui/assets/../../etc/passwd", "").wantError(t, 404, "no such route")
	s.send("POST", "/ui/", "").wantError(t, 405, "POST is not allowed")
	if got := s.send("GET", "/ui", ""); got.StatusCode != 308 || got.Header.Get("Location") != "/ui/" {
		t.Errorf("/ui: %d %q", got.StatusCode, got.Header.Get("Location"))
	}
}

func TestFrontLeadsBrowsersToThePages(t *testing.T) {
	t.Parallel()
	const service = `{"service":"k8s-cli-api","status":"ok"}`
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	s := serveWith(t, &fake{}, withPages)
	for accept, want := range map[string]int{browser: 303, "-": 200, "*/*": 200, "application/json": 200, "application/json, text/html;q=0.5": 200} {
		got := s.send("GET", "/", "", "Accept", accept)
		if got.StatusCode != want || want == 200 && got.body != service {
			t.Errorf("Accept %s: %d %q, want %d", accept, got.StatusCode, got.body, want)
		}
	}
	off := serve(t, &fake{})
	if got := off.send("GET", "/", "", "Accept", browser); got.body != service {
		t.Errorf("without pages: %d %q", got.StatusCode, got.body)
	}
	off.send("GET", "/ui/", "").wantError(t, 404, "no such route")
}
