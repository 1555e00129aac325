package api

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/api/openapi"
)

// TestOpenAPIHasEveryRoute checks that the description and the server have the same routes.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	described := map[string]bool{}
	for _, o := range openapi.Operations() {
		described[o.Method+" "+o.Path] = true
	}
	served := map[string]bool{}
	f := &fake{}
	for _, m := range f.newServer(serve(t, f).config).metricsByRoute.all {
		if m.Method != "HEAD" && m.Method != "" {
			served[m.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(m.Path, "{$1}")] = true
		}
	}
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

func TestDocumentsAreServed(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	page := s.send("GET", "/docs", "", userHeader, "-")
	if page.StatusCode != 200 || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", page.StatusCode, page.Header)
	}
	if found := regexp.MustCompile(`(?i)(src|href)="?(https?:)?//[^"]*|@import|url\(`).FindString(page.body); found != "" {
		t.Errorf("the page loads %q", found)
	}
	if strings.Count(page.body, "<section") < 25 || !strings.Contains(page.body, `id="submitTask" data-target="post-/tasks/submit"`) || strings.Contains(page.Header.Get("Content-Security-Policy"), "script-src 'unsafe") {
		t.Errorf("the page: %v %.500s", page.Header, page.body)
	}
	for _, encoding := range []string{"gzip", "identity"} {
		viewer := s.send("GET", "/docs/rapidoc-min.js", "", userHeader, "-", "Accept-Encoding", encoding)
		if viewer.StatusCode != 200 || (viewer.Header.Get("Content-Encoding") == "gzip") != (encoding == "gzip") || len(viewer.body) < 200_000 {
			t.Errorf("%s: %d %v, %d bytes", encoding, viewer.StatusCode, viewer.Header, len(viewer.body))
		}
		if again := s.send("GET", "/docs/rapidoc-min.js", "", "If-None-Match", viewer.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%d with the ETag", again.StatusCode)
		}
	}
	s.send("GET", "/docs/other.js", "").wantError(t, 404, "other.js")
	if got := s.send("GET", "/openapi.json", "", userHeader, "-"); got.Header.Get("Content-Type") != typeJSON || !json.Valid([]byte(got.body)) || !strings.Contains(got.body, `"openapi": "3.1.0"`) {
		t.Errorf("the description: %d %.200s", got.StatusCode, got.body)
	}
	if got := s.send("GET", openapi.SchemaPath, "", userHeader, "-"); got.Header.Get("Content-Type") != "application/schema+json" || !strings.Contains(got.body, `"num_nodes"`) {
		t.Errorf("the schema: %d %.200s", got.StatusCode, got.body)
	}
}
