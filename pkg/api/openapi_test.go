package api

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

var update = goflag.Bool("update", false, "write openapi.json from openapi.yaml")

// TestOpenAPIIsUpToDate checks that openapi.json is generated from openapi.yaml.
func TestOpenAPIIsUpToDate(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	delete(document, "x-errors") // its parts are inlined where they are used
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(document); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want.Bytes(), openAPI) {
		t.Error("openapi.json is not what openapi.yaml says; go test ./pkg/api -run OpenAPIIsUpToDate -update makes it so")
	}
}

// TestOpenAPIHasEveryRoute checks that the description and the server have the same routes.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openAPI, &document); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range document.Paths {
		for method := range item {
			if method != "parameters" {
				described[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	served := map[string]bool{}
	f := &fake{}
	for _, m := range f.newServer(serve(t, f).config).metricsByRoute.all {
		if m.method != "HEAD" && m.method != "" {
			served[m.method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(m.route, "{$1}")] = true
		}
	}
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

func TestDocsLoadNothingFromElsewhere(t *testing.T) {
	s := serve(t, &fake{})
	page := s.send("GET", "/docs", "", userHeader, "-")
	if page.StatusCode != 200 || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", page.StatusCode, page.Header)
	}
	if found := regexp.MustCompile(`(?i)(src|href)="?(https?:)?//[^"]*|@import|https?://[^"\s]*`).FindString(page.body); found != "" {
		t.Errorf("the page names %q", found)
	}
	if got := s.send("GET", "/openapi.json", "", userHeader, "-"); got.Header.Get("Content-Type") != typeJSON || !json.Valid([]byte(got.body)) || !strings.Contains(got.body, `"openapi": "3.1.0"`) {
		t.Errorf("the description: %d %.200s", got.StatusCode, got.body)
	}
}
