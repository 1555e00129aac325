package features

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// A bad is a request that the server must refuse with this code and a sentence that names
// what is wrong.
type bad struct {
	name   string
	method string // POST if empty
	path   string // /tasks/submit if empty
	body   string
	code   int
	names  string // what the sentence must contain
}

func submits(name, body string, code int, names string) bad {
	return bad{name: name, body: body, code: code, names: names}
}

// field is a task that is valid except for one additional field.
func field(name, member, names string) bad {
	return submits(name, `{"run":"true",`+member+`}`, 422, names)
}

func creates(name, body string, code int, names string) bad {
	return bad{name: name, path: "/volumes/create", body: body, code: code, names: names}
}

func asks(method, path string, code int, names string) bad {
	return bad{name: method + " " + path, method: method, path: path, code: code, names: names}
}

var (
	long = strings.Repeat("n", 300)

	badTasks = []bad{
		submits("broken JSON", `{"run":`, 400, "JSON"),
		submits("something after the JSON", `{"run":"true"} {"run":"true"}`, 400, "JSON"),
		submits("broken UTF-8", "{\"run\":\"echo \xff\"}", 400, "UTF-8"),
		field("an unknown field of resources", `"resources":{"cpu":1}`, "resources.cpu"),
		field("num_nodes beyond any number", `"num_nodes":99999999999999999999`, "num_nodes"),
		field("a name of 300 characters", `"name":"`+long+`"`, "name"),
	}

	badVolumes = []bad{
		creates("no body", "", 400, "body"),
		creates("a size without a unit", `{"name":"v","size":"10"}`, 422, "size"),
		creates("a name that leaves no room for the id", `{"name":"`+long[:60]+`","size":"1Gi"}`, 422, "name"),
	}

	badPaths = []bad{
		asks("POST", "/tasks/unknown0/stop", 404, "Task unknown0 not found"),
		asks("GET", "/tasks/..%2Fvolumes", 404, ""),
		asks("GET", "/tasks/%00", 404, ""),
		asks("POST", "/tasks//stop", 404, "/tasks//stop"),
		asks("GET", "/tasks?cursor=x", 422, "cursor"),
	}
)

// TestInvalidInputIsExplained sends a few invalid requests to a real server. The tests of pkg/api,
// pkg/task and pkg/taskfile know every other kind.
func TestInvalidInputIsExplained(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, group := range [][]bad{badTasks, badVolumes, badPaths} {
		for _, b := range group {
			if b.method == "" {
				b.method = http.MethodPost
			}
			if b.path == "" {
				b.path = "/tasks/submit"
			}
			t.Run(cut(b.path+" "+b.name), func(t *testing.T) {
				got := s.send(t, b.method, "ann", b.path, []byte(b.body))
				sentence := got.detail(t)
				if got.code != b.code || !strings.Contains(sentence, b.names) {
					t.Errorf("got %d %q, want %d and %q in the sentence", got.code, sentence, b.code, b.names)
				}
				if len(sentence) > len(b.path)+1000 || !utf8.ValidString(sentence) || strings.ContainsRune(sentence, '\n') {
					t.Errorf("%d bytes are no sentence: %.200q", len(sentence), sentence)
				}
			})
		}
	}
	s.wantsEmptyLists(t)
}

func cut(text string) string { return text[:min(len(text), 80)] }

// wantsEmptyLists checks that no refused request has left a task or a volume.
func (s *server) wantsEmptyLists(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{"/tasks?all_users=true": `{"tasks":[]}`, "/volumes?all_users=true": `{"volumes":[]}`} {
		if got := s.get(t, "ann", path); string(got.body) != want {
			t.Errorf("afterwards %s answers %s", path, got.body)
		}
	}
}

func TestUnusualNamesAreAccepted(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, name := range []string{"Train", "my_task", "v1.2.3", "a--b", "a", strings.Repeat("n", 253), "123"} {
		got := ann.post(t, ann.name, "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"},"name":"`+name+`"}`)
		if got.code != http.StatusOK {
			t.Errorf("name %.20q: %d %s", name, got.code, got.body)
		}
	}
	if got := ann.post(t, ann.name, "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"},"num_nodes":"2"}`); got.code != http.StatusOK {
		t.Errorf("a whole number in quotes: %d %s", got.code, got.body)
	}
}

// A server accepts a request line with an absolute URL, as proxies get.
func TestAbsoluteRequestURLs(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		request string
		code    int
	}{
		{"GET http://test/tasks?limit=1", http.StatusOK},
		{"GET https://test/tasks", http.StatusOK},
		{"GET http://test", http.StatusOK},
		{"GET http://test//tasks", http.StatusNotFound},
		{"POST http://test/tasks//stop", http.StatusNotFound},
		{"GET http://test/tasks/x/../../volumes", http.StatusNotFound},
	} {
		if got := ann.raw(t, tt.request+" HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n"); got.code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.request, got.code, got.body, tt.code)
		}
	}
}
