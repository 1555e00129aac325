package features

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"k8s-cli/pkg/api/openapi"
	"k8s-cli/test/testkit/must"
)

// A contract checks every answer in a test against the server's openapi.json. Objects with
// described fields must have no other fields.
type contract struct {
	next http.RoundTripper
	t    *testing.T
}

// held returns a client whose answers are checked against the contract.
func held(t *testing.T) *http.Client {
	return &http.Client{Transport: contract{http.DefaultTransport, t}}
}

// RoundTrip implements http.RoundTripper.
func (c contract) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := description().check(r, answer); err != nil {
		c.t.Errorf("%s %s: the answer %d is not as openapi.json has it: %v", r.Method, r.URL.Path, answer.StatusCode, err)
	}
	return answer, nil
}

// CloseIdleConnections closes the idle connections of the wrapped transport. http.Client
// calls CloseIdleConnections.
func (c contract) CloseIdleConnections() {
	if next, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// A describedAPI is the part of the description that the contract needs.
type describedAPI struct {
	paths    map[string]any
	root     any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema // by JSON pointer
}

var description = sync.OnceValue(func() *describedAPI {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Description()))
	if err != nil {
		panic(err) // a test of package api reports this error in more detail
	}
	closed(root)
	o := &describedAPI{root: root, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	o.compiler.AssertFormat()
	if err := o.compiler.AddResource(descriptionURL, root); err != nil {
		panic(err)
	}
	o.paths, _ = at(root, "paths").(map[string]any)
	return o
})

const descriptionURL = "file:///openapi.json"

// closed forbids additional fields in every object whose fields are described.
func closed(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, described := n["properties"]; described && n["additionalProperties"] == nil {
			n["additionalProperties"] = false
		}
		for _, child := range n {
			closed(child)
		}
	case []any:
		for _, child := range n {
			closed(child)
		}
	}
}

func at(node any, path ...string) any {
	for _, name := range path {
		m, _ := node.(map[string]any)
		node = m[name]
	}
	return node
}

// route returns the template of a path. If several templates match, route returns the one
// with the fewest parameters.
func (o *describedAPI) route(path string) string {
	best := ""
	parts := strings.Split(path, "/")
	for template := range o.paths {
		other := strings.Split(template, "/")
		same := slices.EqualFunc(parts, other, func(a, b string) bool { return a == b || strings.HasPrefix(b, "{") && a != "" })
		if same && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	return best
}

func (o *describedAPI) check(r *http.Request, answer *http.Response) error {
	if answer.Header.Get("X-Request-Id") == "" && answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		return fmt.Errorf("it has no X-Request-Id")
	}
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	template := o.route(r.URL.EscapedPath())
	operation := at(o.paths, template, method)
	if operation == nil {
		if answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusMethodNotAllowed {
			return fmt.Errorf("there is no such operation")
		}
		return o.body(answer, "#/components/schemas/Detail", r.Method)
	}
	place := "#/paths/" + pointer(template) + "/" + method + "/responses/" + strconv.Itoa(answer.StatusCode)
	response := at(operation, "responses", strconv.Itoa(answer.StatusCode))
	if ref, ok := at(response, "$ref").(string); ok {
		place = ref
		response = at(o.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	if response == nil {
		return fmt.Errorf("there is no such code")
	}
	headers, _ := at(response, "headers").(map[string]any)
	for name, header := range headers {
		if at(header, "required") == true && answer.Header.Get(name) == "" {
			return fmt.Errorf("it has no header %s", name)
		}
	}
	content, _ := at(response, "content").(map[string]any)
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case len(content) == 0 || r.Method == http.MethodHead:
		return nil
	case content[kind] == nil:
		return fmt.Errorf("its type %q is none of those", kind)
	case kind != "application/json":
		return nil
	}
	return o.body(answer, place+"/content/application~1json/schema", r.Method)
}

// pointer escapes a name as a part of a JSON pointer in a URL.
func pointer(name string) string {
	return url.PathEscape(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
}

// body checks the body of an answer and replaces it by a copy, so that the caller can read
// it.
func (o *describedAPI) body(answer *http.Response, at, method string) error {
	if method == http.MethodHead {
		return nil
	}
	raw, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(raw), failing{err}))
	if err != nil {
		return nil // the caller gets this error when it reads the body
	}
	text := io.Reader(bytes.NewReader(raw))
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if text, err = gzip.NewReader(text); err != nil {
			return fmt.Errorf("it is no gzip: %w", err)
		}
	}
	value, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		return fmt.Errorf("%w in %.200s", err, raw)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	schema := o.schemas[at]
	if schema == nil {
		if schema, err = o.compiler.Compile(descriptionURL + at); err != nil {
			return err
		}
		o.schemas[at] = schema
	}
	return schema.Validate(value)
}

// failing ends a body with the same error as the original body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// The contract checker detects wrong answers.
func TestContractChecker(t *testing.T) {
	t.Parallel()
	answer := func(code int, body string) *http.Response {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"x"}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	for _, tt := range []struct {
		name, method, path string
		answer             *http.Response
		ok                 bool
	}{
		{"as it should be", "POST", "/tasks/stop", answer(200, `{"count":1,"status":"stopped","message":"m"}`), true},
		{"a field more", "POST", "/tasks/stop", answer(200, `{"count":1,"status":"stopped","message":"m","more":1}`), false},
		{"a field less", "POST", "/tasks/stop", answer(200, `{"count":1,"status":"stopped"}`), false},
		{"another type", "POST", "/tasks/stop", answer(200, `{"count":"1","status":"stopped","message":"m"}`), false},
		{"a code that is not there", "POST", "/tasks/stop", answer(410, `{"detail":"d","reason":"NotFound"}`), false},
		{"no Retry-After", "POST", "/tasks/stop", answer(503, `{"detail":"d","reason":"NotFound"}`), false},
		{"an error", "GET", "/tasks/abc", answer(404, `{"detail":"d","reason":"NotFound"}`), true},
		{"an error in other words", "GET", "/tasks/abc", answer(404, `{"error":"d"}`), false},
		{"a time that is none", "GET", "/tasks/abc/events", answer(200, `{"events":[{"time":"noon","type":"phase","kind":"task","name":"n","user":"u","status":"s"}]}`), false},
		{"a route that is none", "GET", "/nowhere", answer(404, `{"detail":"d","reason":"NotFound"}`), true},
		{"a route that is not described", "GET", "/nowhere", answer(200, `{}`), false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://here"+tt.path, nil)
		must.Succeed(t, err)
		if err := description().check(r, tt.answer); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if !json.Valid(openapi.Description()) {
		t.Error("the description is not JSON")
	}
}
