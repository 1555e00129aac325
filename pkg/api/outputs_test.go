package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s-cli/pkg/api/archive"
)

func tokenOf(id string, rank int) string { return sealer.OutputToken(id, rank) }

// submitOutputs submits a task of three nodes with outputs.
func (s *served) submitOutputs() string {
	s.t.Helper()
	return s.submit(`{"run": "true", "num_nodes": 3, "outputs": ["results", "/logs"]}`)
}

// sendOutputs sends outputs with the token of their node.
func (s *served) sendOutputs(id string, rank int, query, content string) answered {
	s.t.Helper()
	return s.send(http.MethodPut, fmt.Sprintf("/tasks/%s/outputs/%d%s", id, rank, query), content, userHeader, "-", "Authorization", "Bearer "+tokenOf(id, rank))
}

func (s *served) outputsOf(id string) string {
	s.t.Helper()
	var got struct {
		Metadata struct {
			Outputs json.RawMessage `json:"outputs"`
		} `json:"metadata"`
	}
	a := s.send(http.MethodGet, "/tasks/"+id, "")
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		s.t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return string(got.Metadata.Outputs)
}

func TestOutputsOfATask(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	id := s.submitOutputs()
	path := "/tasks/" + id + "/outputs/"
	s.send(http.MethodGet, path+"0", "").wantError(t, http.StatusNotFound, "when its scripts have ended")
	first, again := noise(1<<20), noise(2<<20)
	s.sendOutputs(id, 0, "?missing=1", first).wantOK(t)
	s.sendOutputs(id, 0, "", again).wantOK(t) // another attempt
	s.sendOutputs(id, 1, "?missing=0,1", "").wantOK(t)
	if a := s.send(http.MethodGet, path+"0", ""); a.StatusCode != http.StatusOK || a.body != again || a.Header.Get("ETag") != `"`+sumOf(again)+`"` || a.Header.Get("Content-Type") != "application/gzip" {
		t.Errorf("%d, %d bytes, %v", a.StatusCode, len(a.body), a.Header)
	}
	if a := s.send(http.MethodHead, path+"0", ""); a.StatusCode != http.StatusOK || a.ContentLength != 2<<20 {
		t.Errorf("head: %d, %d", a.StatusCode, a.ContentLength)
	}
	for _, tt := range []struct{ wanted, same, part string }{
		{"bytes=1000-", `"` + sumOf(again) + `"`, again[1000:]},
		{"bytes=1000-", "", again[1000:]},
		{"bytes=5-9", "", again[5:10]},
		{"bytes=1000-", `"` + sumOf(first) + `"`, again},
		{"bytes=9999999-", "", again},
		{"bytes=0-1,5-6", "", again},
	} {
		a := s.send(http.MethodGet, path+"0", "", "Range", tt.wanted, "If-Range", tt.same)
		if a.body != tt.part || (a.StatusCode == http.StatusPartialContent) != (len(tt.part) < len(again)) {
			t.Errorf("%+.40v: %d, %d bytes, %s", tt, a.StatusCode, len(a.body), a.Header.Get("Content-Range"))
		}
	}
	if a := s.send(http.MethodGet, path+"0", "", "Range", "bytes=1000-"); a.Header.Get("Content-Range") != "bytes 1000-2097151/2097152" {
		t.Errorf("Content-Range %q", a.Header.Get("Content-Range"))
	}
	want := `[{"node":0,"bytes":2097152,"sha256":"` + sumOf(again) + `"},{"node":1,"bytes":0,"missing":["results","/logs"]}]`
	if got := s.outputsOf(id); got != want {
		t.Errorf("status %s, want %s", got, want)
	}
	s.send(http.MethodGet, path+"1", "").wantError(t, http.StatusNotFound, "none of the paths existed")
	s.send(http.MethodGet, path+"3", "").wantError(t, http.StatusNotFound, "has 3 nodes")
	s.send(http.MethodGet, path+"x", "").wantError(t, http.StatusUnprocessableEntity, "not the number of a node")
	for _, rank := range []string{"0", "1", "3"} { // another user learns nothing
		s.send(http.MethodGet, path+rank, "", userHeader, "bob").wantError(t, http.StatusNotFound, "Task "+id+" not found")
	}
	s.send(http.MethodGet, "/tasks/none/outputs/0", "").wantError(t, http.StatusNotFound, "Task none not found")
	s.send(http.MethodPost, "/tasks/"+id+"/stop", "").wantOK(t)
	s.sendOutputs(id, 2, "", "of the grace period").wantOK(t)
}

// A node that reports again and again appends only a few facts to the log.
func TestReportsOfANodeAreLimited(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	id := s.submitOutputs()
	refused := 0
	for n := range 50 {
		switch got := s.sendOutputs(id, 0, []string{"?failed=size", "?failed=pack"}[n%2], ""); got.StatusCode {
		case http.StatusTooManyRequests:
			refused++
		case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		default:
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
	}
	if refused < 30 {
		t.Errorf("%d of 50 reports were refused", refused)
	}
	s.sendOutputs(id, 1, "", noise(1<<10)).wantOK(t)
}

func TestOutputsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	id, other, without := s.submitOutputs(), s.submitOutputs(), s.submit(`{"run": "true"}`)
	put := func(path, authorization, body string) answered {
		return s.send(http.MethodPut, "/tasks/"+path, body, userHeader, "ann", "Authorization", authorization)
	}
	put(id+"/outputs/0", "-", "x").wantError(t, http.StatusUnauthorized, "Authorization: ")
	put(id+"/outputs/0", "Basic x", "x").wantError(t, http.StatusUnauthorized, "Authorization: ")
	for _, wrong := range []string{tokenOf(other, 0), tokenOf(id, 1), sealer.UploadToken(id)} {
		put(id+"/outputs/0", "Bearer "+wrong, "x").wantError(t, http.StatusForbidden, "not the token of this node")
	}
	put(id+"/outputs/3", "Bearer "+tokenOf(id, 3), "x").wantError(t, http.StatusNotFound, "no node 3")
	put(id+"/outputs/-1", "Bearer "+tokenOf(id, -1), "x").wantError(t, http.StatusUnprocessableEntity, "rank: ")
	put(without+"/outputs/0", "Bearer "+tokenOf(without, 0), "x").wantError(t, http.StatusNotFound, "has no outputs")
	put("none/outputs/0", "Bearer "+tokenOf("none", 0), "x").wantError(t, http.StatusNotFound, "not found")
	s.sendOutputs(id, 0, "?missing=2", "x").wantError(t, http.StatusUnprocessableEntity, "missing: ")
	if got := s.outputsOf(id); got != "" {
		t.Errorf("after refused requests: %s", got)
	}

	s.sendOutputs(id, 0, "", noise(3<<20+1)).wantError(t, http.StatusRequestEntityTooLarge, "larger than 3Mi")
	s.sendOutputs(id, 1, "?failed=size", "").wantError(t, http.StatusRequestEntityTooLarge, "larger than 3Mi")
	s.sendOutputs(id, 2, "?failed=pack", "").wantError(t, http.StatusUnprocessableEntity, "could not pack")
	if got := s.outputsOf(id); strings.Count(got, `"error":"the `) != 3 || strings.Contains(got, "sha256") {
		t.Errorf("status %s", got)
	}
	s.sendOutputs(id, 0, "", noise(3<<20)).wantOK(t)
	s.sendOutputs(other, 0, "", noise(2<<20+1)).wantError(t, http.StatusForbidden, "--max-user-outputs")
	s.sendOutputs(id, 0, "", noise(1<<20)).wantOK(t) // replaces the outputs of the node
	s.sendOutputs(other, 0, "", noise(2<<20+1)).wantOK(t)
	if got := s.outputsOf(other); strings.Contains(got, "error") {
		t.Errorf("after the success: %s", got)
	}
}

// Without a Content-Length, the limits hold all the same.
func TestChunkedOutputs(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	id := s.submitOutputs()
	for rank, tt := range []struct{ size, code int }{{3<<20 + 1, http.StatusRequestEntityTooLarge}, {3 << 20, http.StatusOK}, {2<<20 + 1, http.StatusForbidden}} {
		path, content := fmt.Sprintf("/tasks/%s/outputs/%d", id, rank), struct{ io.Reader }{strings.NewReader(noise(tt.size))}
		answer, err := s.do("PUT", path, content, userHeader, "-", "Content-Type", "-", "Authorization", "Bearer "+tokenOf(id, rank))
		if err != nil || answer.StatusCode != tt.code {
			t.Fatalf("%d bytes: %v, %v", tt.size, answer, err)
		}
		_ = answer.Body.Close()
	}
}

func TestAServerThatStoresNoOutputs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"without a URL": func(c *Config) { c.Uploads.Advertise = "" },
		"without a key": func(c *Config) { c.Outputs.Tokens = nil },
		"without both":  func(c *Config) { c.Outputs = archive.OutputConfig{} },
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := storedWith(t, change)
			s.send(http.MethodPost, "/tasks/submit", `{"run": "true", "outputs": ["results"]}`).wantError(t, http.StatusUnprocessableEntity, "outputs: the server stores no outputs")
			s.sendOutputs("abc12345", 0, "", "x").wantError(t, map[bool]int{true: http.StatusNotFound, false: http.StatusUnauthorized}[strings.HasSuffix(name, "URL")], "")
		})
	}
}
