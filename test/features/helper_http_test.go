package features

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// An answer is a response of the server, as received.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// send sends a request for user; an empty user sends no X-User. Headers are name, value,
// name, value, ...
func (s *server) send(t *testing.T, method, user, path string, body []byte, headers ...string) answer {
	t.Helper()
	if user != "" {
		headers = append([]string{"X-User", user}, headers...)
	}
	a, err := testkit.Send(t.Context(), held(t), testkit.Request{Method: method, URL: s.url + path, Body: body, Header: headers})
	must.Succeed(t, err)
	return answer{a.Code, a.Header, a.Body}
}

func (s *server) get(t *testing.T, user, path string, headers ...string) answer {
	t.Helper()
	return s.send(t, http.MethodGet, user, path, nil, headers...)
}

func (s *server) post(t *testing.T, user, path, body string, headers ...string) answer {
	t.Helper()
	return s.send(t, http.MethodPost, user, path, []byte(body), headers...)
}

// decode decodes a body of a documented form.
func decode[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("the answer is %d: %s", a.code, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("the body is not as documented: %v\n%s", err, a.body)
	}
	return v
}

// detail returns the message of an error. The body must have no field that task.Detail lacks.
func (a answer) detail(t *testing.T) string {
	t.Helper()
	var body task.Detail
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || body.Detail == "" {
		t.Errorf("the body of %d is not {\"detail\": \"<sentence>\"}: %.300q", a.code, a.body)
	}
	return body.Detail
}

// wants checks that an answer is an error with this code and this message.
func (a answer) wants(t *testing.T, code int, sentence string) {
	t.Helper()
	if got := a.detail(t); a.code != code || got != sentence {
		t.Errorf("got %d %q, want %d %q", a.code, got, code, sentence)
	}
}
