package features

import (
	"fmt"
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
		submits("no body", "", 400, "body"),
		submits("blanks", "  \n", 400, "body"),
		submits("broken JSON", `{"run":`, 400, "JSON"),
		submits("something after the JSON", `{"run":"true"} {"run":"true"}`, 400, "JSON"),
		submits("an array", `[{"run":"true"}]`, 422, ""),
		submits("a string", `"run"`, 422, ""),
		submits("a number", `1`, 422, ""),
		submits("null", `null`, 422, ""),
		submits("broken UTF-8", "{\"run\":\"echo \xff\"}", 400, "UTF-8"),
		submits("half of a character", `{"run":"echo \ud800"}`, 400, "surrogate"),
		submits("no run", `{"name":"x"}`, 422, "run"),
		submits("an empty run", `{"run":""}`, 422, "run"),
		submits("a run of blanks", `{"run":" \n "}`, 422, "run"),
		submits("a run that is null", `{"run":null}`, 422, "run"),
		submits("a run that is a list", `{"run":["true"]}`, 422, "run"),
		submits("a NUL in run", `{"run":"echo \u0000"}`, 422, "run"),
		field("an unknown field", `"runn":"x"`, "runn"),
		field("an unknown field of resources", `"resources":{"cpu":1}`, "resources.cpu"),
		field("a field twice", `"run":"false"`, "run"),

		field("num_nodes 0", `"num_nodes":0`, "num_nodes"),
		field("num_nodes -1", `"num_nodes":-1`, "num_nodes"),
		field("num_nodes in words", `"num_nodes":"two"`, "num_nodes"),
		field("num_nodes 1e9", `"num_nodes":1e9`, "num_nodes"),
		field("num_nodes of 10 digits", `"num_nodes":1000000000`, "num_nodes"),
		field("num_nodes beyond any number", `"num_nodes":99999999999999999999`, "num_nodes"),
		field("num_nodes 1.5", `"num_nodes":1.5`, "num_nodes"),
		field("num_nodes more than allowed", `"num_nodes":257`, "num_nodes"),
		field("num_nodes true", `"num_nodes":true`, "num_nodes"),

		field("cpus in words", `"resources":{"cpus":"many"}`, "resources.cpus"),
		field("cpus 0", `"resources":{"cpus":0}`, "resources.cpus"),
		field("cpus -1", `"resources":{"cpus":"-1"}`, "resources.cpus"),
		field("memory in words", `"resources":{"memory":"lots"}`, "resources.memory"),
		field("memory 0", `"resources":{"memory":"0Gi"}`, "resources.memory"),
		field("memory of an unknown unit", `"resources":{"memory":"4Xi"}`, "resources.memory"),
		field("accelerators without a count", `"resources":{"accelerators":"V100:"}`, "resources.accelerators"),
		field("accelerators with a count in words", `"resources":{"accelerators":"A100:x"}`, "resources.accelerators"),
		field("accelerators 0", `"resources":{"accelerators":"V100:0"}`, "resources.accelerators"),
		field("accelerators -1", `"resources":{"accelerators":"V100:-1"}`, "resources.accelerators"),
		field("an image with a blank", `"resources":{"image_id":"python 3"}`, "resources.image_id"),
		field("resources as a string", `"resources":"big"`, "resources"),

		field("a name with a blank", `"name":"my task"`, "name"),
		field("a name of an emoji", `"name":"🚀"`, "name"),
		field("a name of 300 characters", `"name":"`+long+`"`, "name"),
		field("a name that ends with a dash", `"name":"a-"`, "name"),
		field("a variable with a blank", `"envs":{"MY VAR":"x"}`, "envs"),
		field("a variable that starts with a digit", `"envs":{"1A":"x"}`, "envs"),
		field("a variable with a NUL", `"envs":{"A":"\u0000"}`, "envs"),
		field("envs as a list", `"envs":["A=1"]`, "envs"),
		field("a relative mount path", `"volumes":{"data":"v"}`, "volumes"),
		field("the root as mount path", `"volumes":{"/":"v"}`, "volumes"),
		field("a mount path twice", `"volumes":{"/data":"v","/data/":"w"}`, "volumes"),
		field("a volume name in capitals", `"volumes":{"/data":"Data"}`, "volumes"),
		field("a volume without a name", `"volumes":{"/data":""}`, "volumes"),
	}

	badVolumes = []bad{
		creates("no body", "", 400, "body"),
		creates("broken JSON", `{"name":"v"`, 400, "JSON"),
		creates("an array", `[]`, 422, ""),
		creates("no name", `{"size":"1Gi"}`, 422, "name"),
		creates("no size", `{"name":"v"}`, 422, "size"),
		creates("a size without a unit", `{"name":"v","size":"10"}`, 422, "size"),
		creates("a size without a unit, as a number", `{"name":"v","size":10}`, 422, "size"),
		creates("a size in words", `{"name":"v","size":"abc"}`, 422, "size"),
		creates("a size below 0", `{"name":"v","size":"-1Gi"}`, 422, "size"),
		creates("a size of 0", `{"name":"v","size":"0Gi"}`, 422, "size"),
		creates("a size with a blank", `{"name":"v","size":"1 Gi"}`, 422, "size"),
		creates("a size of millibytes", `{"name":"v","size":"100m"}`, 422, "size"),
		creates("an unknown access mode", `{"name":"v","size":"1Gi","access_modes":["ReadWriteSometimes"]}`, 422, "access_modes"),
		creates("an access mode twice", `{"name":"v","size":"1Gi","access_modes":["ReadWriteOnce","ReadWriteOnce"]}`, 422, "access_modes"),
		creates("a mode that goes with no other", `{"name":"v","size":"1Gi","access_modes":["ReadWriteOncePod","ReadWriteOnce"]}`, 422, "access_modes"),
		creates("access modes as a number", `{"name":"v","size":"1Gi","access_modes":1}`, 422, "access_modes"),
		creates("a storage class with a blank", `{"name":"v","size":"1Gi","storage_class":"my class"}`, 422, "storage_class"),
		creates("a name in capitals", `{"name":"Data","size":"1Gi"}`, 422, "name"),
		creates("a name with _", `{"name":"my_data","size":"1Gi"}`, 422, "name"),
		creates("a name with a dot", `{"name":"my.data","size":"1Gi"}`, 422, "name"),
		creates("a name with a blank", `{"name":"my data","size":"1Gi"}`, 422, "name"),
		creates("a name of an emoji", `{"name":"🚀","size":"1Gi"}`, 422, "name"),
		creates("a name that starts with a dash", `{"name":"-v","size":"1Gi"}`, 422, "name"),
		creates("a name of 300 characters", `{"name":"`+long+`","size":"1Gi"}`, 422, "name"),
		creates("a name that leaves no room for the id", `{"name":"`+long[:60]+`","size":"1Gi"}`, 422, "name"),
		creates("an unknown field", `{"name":"v","size":"1Gi","sise":"1Gi"}`, 422, "sise"),
		creates("broken UTF-8", "{\"name\":\"v\xff\",\"size\":\"1Gi\"}", 400, "UTF-8"),
	}

	badPaths = []bad{
		asks("GET", "/tasks/unknown0", 404, "Task unknown0 not found"),
		asks("GET", "/tasks/unknown0/logs", 404, "Task unknown0 not found"),
		asks("POST", "/tasks/unknown0/stop", 404, "Task unknown0 not found"),
		asks("GET", "/volumes/unknown0", 404, "Volume unknown0 not found"),
		asks("DELETE", "/volumes/unknown0", 404, "Volume unknown0 not found"),
		asks("GET", "/tasks/..%2Fvolumes", 404, ""),
		asks("GET", "/tasks/%00", 404, ""),
		asks("GET", "/tasks/"+strings.Repeat("a", 5000), 404, ""),
		asks("POST", "/tasks//stop", 404, "/tasks//stop"),
		asks("GET", "/nothing", 404, "/nothing"),
		asks("GET", "/tasks/a/b/c", 404, "/tasks/a/b/c"),
		asks("POST", "/volumes/unknown0/stop", 404, ""),
		asks("GET", "/tasks?all_users=maybe", 422, "all_users"),
		asks("POST", "/tasks/stop?all_users=2", 422, "all_users"),
		asks("GET", "/volumes?all_users=maybe", 422, "all_users"),
		asks("GET", "/tasks?status=done", 422, "status"),
		asks("GET", "/tasks?limit=0", 422, "limit"),
		asks("GET", "/tasks?limit=x", 422, "limit"),
		asks("GET", "/tasks?cursor=x", 422, "cursor"),
	}
)

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
	s := start(t)
	for _, name := range []string{"Train", "my_task", "v1.2.3", "a--b", "a", strings.Repeat("n", 253), "123"} {
		got := s.post(t, "ann", "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"},"name":"`+name+`"}`)
		if got.code != http.StatusOK {
			t.Errorf("name %.20q: %d %s", name, got.code, got.body)
		}
	}
	if got := s.post(t, "ann", "/tasks/submit", `{"run":"true","volumes":{"/data":"nowhere"},"num_nodes":"2"}`); got.code != http.StatusOK {
		t.Errorf("a whole number in quotes: %d %s", got.code, got.body)
	}
}

func TestExactlyOneUserHeader(t *testing.T) {
	t.Parallel()
	s := start(t)
	paths := []string{
		"GET /tasks", "GET /tasks/abcdefgh", "GET /tasks/abcdefgh/logs", "POST /tasks/submit", "POST /tasks/stop",
		"POST /tasks/abcdefgh/stop", "GET /volumes", "GET /volumes/abcdefgh", "POST /volumes/create", "DELETE /volumes/abcdefgh",
	}
	for _, tt := range []struct{ name, headers string }{
		{"nobody", ""},
		{"an empty name", "X-User:\r\n"},
		{"a name of blanks", "X-User:  \t \r\n"},
		{"two names", "X-User: ann\r\nX-User: bob\r\n"},
		{"the same name twice", "X-User: ann\r\nx-user: ann\r\n"},
		{"a bell", "X-User: an\an\r\n"},
		{"an escape", "X-User: \x1b[31mann\r\n"},
		{"a control character of two bytes", "X-User: an\u0085n\r\n"},
		{"broken UTF-8", "X-User: ann\xff\r\n"},
		{"254 bytes", "X-User: " + strings.Repeat("a", 254) + "\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range paths {
				got := s.raw(t, path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 14\r\n"+tt.headers+"\r\n{\"run\":\"true\"}")
				// The server may refuse a byte that HTTP forbids in headers with 400.
				if sentence := got.detail(t); got.code != 401 && got.code != 400 || got.code == 401 && !strings.Contains(sentence, "X-User") {
					t.Errorf("%s: %d %q, want 401 and X-User in the sentence", path, got.code, sentence)
				}
			}
		})
	}
	for _, name := range []string{"  ann\t", "ann@example.com", "Ünïcødé 🚀", strings.Repeat("a", 253)} {
		got := s.raw(t, "GET /tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-User: "+name+"\r\n\r\n")
		if got.code != http.StatusOK {
			t.Errorf("user %.20q: %d %s", name, got.code, got.body)
		}
	}
	s.wantsEmptyLists(t)
}

// A client that sends a too large body gets the error, although it continues to send.
func TestOversizedBodiesAreRejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"run":"` + strings.Repeat("x", 6<<20) + `"}` // the server reads this much to the end
	for _, path := range []string{"/tasks/submit", "/volumes/create"} {
		t.Run(path, func(t *testing.T) {
			got := s.post(t, "ann", path, body)
			if sentence := got.detail(t); got.code != http.StatusRequestEntityTooLarge || !strings.Contains(sentence, "131072") {
				t.Errorf("got %d %q, want 413 and the limit", got.code, sentence)
			}
			chunked := s.raw(t, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nTransfer-Encoding: chunked\r\n\r\n"+
				fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
			if chunked.detail(t); chunked.code != http.StatusRequestEntityTooLarge {
				t.Errorf("in chunks: %d, want 413", chunked.code)
			}
		})
	}
	if got := s.post(t, "ann", "/tasks/submit", `{"run":"`+strings.Repeat("x", 128<<10)+`"}`); got.code != http.StatusRequestEntityTooLarge {
		t.Errorf("just above the limit: %d", got.code)
	}
	for _, size := range []int{20 << 10, 200 << 10} {
		got := s.raw(t, "GET /tasks HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n")
		if got.detail(t); got.code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of %d bytes: %d, want 431", size, got.code)
		}
	}
	s.wantsEmptyLists(t)
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"DELETE", "/tasks", "GET"},
		{"POST", "/tasks", "GET"},
		{"PUT", "/tasks/abcdefgh", "GET"},
		{"DELETE", "/tasks/abcdefgh", "GET"},
		{"PATCH", "/tasks/submit", "POST"},
		{"GET", "/tasks/abcdefgh/stop", "POST"},
		{"POST", "/tasks/abcdefgh/logs", "GET"},
		{"PUT", "/volumes/create", "POST"},
		{"POST", "/volumes/abcdefgh", "GET"},
		{"POST", "/volumes/abcdefgh", "DELETE"},
		{"DELETE", "/", "GET"},
		{"PROPFIND", "/tasks", "GET"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			got := s.send(t, tt.method, "ann", tt.path, nil)
			sentence := got.detail(t)
			if allow := got.header.Get("Allow"); got.code != http.StatusMethodNotAllowed || !strings.Contains(allow, tt.allow) || sentence == "" {
				t.Errorf("got %d %q with Allow %q, want 405 and %s", got.code, sentence, allow, tt.allow)
			}
		})
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"} {
		got := s.post(t, "ann", "/tasks/submit", `{"run":"true"}`, "Content-Type", kind)
		if sentence := got.detail(t); got.code != http.StatusUnsupportedMediaType || !strings.Contains(sentence, "Content-Type") {
			t.Errorf("%s: %d %q, want 415", kind, got.code, sentence)
		}
	}
	s.wantsEmptyLists(t)
}

// The answer to invalid HTTP also has an error message.
func TestMalformedHTTP(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, request := range []string{
		"nonsense\r\n\r\n",
		"GET /tasks\r\n\r\n",
		"POST /tasks/submit HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: many\r\n\r\n",
	} {
		got := s.raw(t, request)
		if got.detail(t); got.code < 400 || got.code > 499 {
			t.Errorf("%q: %d", request, got.code)
		}
	}
}

// A server accepts a request line with an absolute URL, as proxies get.
func TestAbsoluteRequestURLs(t *testing.T) {
	t.Parallel()
	s := start(t)
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
		if got := s.raw(t, tt.request+" HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n"); got.code != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.request, got.code, got.body, tt.code)
		}
	}
}
