package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
)

func TestIdentityOfTheCaller(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	head := "POST /tasks/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
	for _, tt := range []struct {
		name, headers string
		want          string // user, or part of the error
		code          int
	}{
		{"a name", "X-User: ann@example.com\r\n", "ann@example.com", 200},
		{"a header in small letters", "x-user: ann\r\n", "ann", 200},
		{"blanks and tabs around it", "X-User: \t ann  \t\r\n", "ann", 200},
		{"blanks inside", "X-User: ann lee\r\n", "ann lee", 200},
		{"letters of any language", "X-User: ānñ-李\r\n", "ānñ-李", 200},
		{"253 bytes", "X-User: " + strings.Repeat("a", 253) + "\r\n", strings.Repeat("a", 253), 200},
		{"254 bytes", "X-User: " + strings.Repeat("a", 254) + "\r\n", "has 254 bytes, more than the limit of 253", 401},
		{"no header", "", "must have exactly one such header, not 0", 401},
		{"an empty header", "X-User:\r\n", "is empty", 401},
		{"blanks only", "X-User:  \t \r\n", "is empty", 401},
		{"two headers", "X-User: ann\r\nX-User: bob\r\n", "must have exactly one such header, not 2", 401},
		{"the same twice", "X-User: ann\r\nx-user: ann\r\n", "must have exactly one such header, not 2", 401},
		{"a control character", "X-User: a\x01nn\r\n", "not valid HTTP", 400},
		{"a tab inside", "X-User: ann\tlee\r\n", "control characters", 401},
		{"a deleted character", "X-User: ann\x7f\r\n", "not valid HTTP", 400},
		{"a control character of Unicode", "X-User: ann\u0085\r\n", "control characters", 401},
		{"broken UTF-8", "X-User: ann\xff\r\n", "not UTF-8", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.raw(head + tt.headers + "\r\n")[0]
			if tt.code != 200 {
				a.wantError(t, tt.code, tt.want)
				return
			}
			if told := s.take(); a.StatusCode != 200 || len(told) != 1 || told[0].StopAll.User != tt.want {
				t.Errorf("%d, commands %+v", a.StatusCode, told)
			}
		})
	}
}

func TestBooleansOfTheQuery(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for value, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "1": true, "yes": true, "on": true,
		"false": false, "False": false, "0": false, "no": false, "off": false,
	} {
		a := s.send("POST", "/tasks/stop?all_users="+value, "")
		if told := s.take(); a.StatusCode != 200 || len(told) != 1 || told[0].StopAll.AllUsers != want {
			t.Errorf("%q: %d, commands %+v", value, a.StatusCode, told)
		}
	}
	for _, path := range []string{"GET /tasks", "GET /summary", "POST /tasks/stop", "GET /volumes", "GET /groups"} {
		method, path, _ := strings.Cut(path, " ")
		s.send(method, path+"?all_users=maybe", "").wantError(t, 422, `all_users: "maybe" is neither true nor false`)
	}
	if len(s.told()) != 0 {
		t.Errorf("commands %v", s.told())
	}
}

func TestFiltersOfLists(t *testing.T) {
	t.Parallel()
	f := &fake{}
	labelled := submitted("ann", "two")
	labelled.Submit.Task.Resources.Labels = map[string]string{"team": "a"}
	f.fold(t, submitted("ann", "one"), labelled, submitted("bob", "three"), task.Command{Stop: &task.Stop{User: "ann", ID: "two"}},
		task.Command{Rejected: &task.Rejected{Key: task.Key{Kind: task.KindTask, ID: "three"}, Reason: "Invalid"}}, created("ann", "data"), created("bob", "other"))
	s := serve(t, f)
	for _, tt := range []struct{ query, want, err string }{
		{"", "two one", ""},
		{"?status=pending&name=one&limit=50", "one", ""},
		{"?status=failed,stopped&label=team%3Da&sort=-ended&view=row", "two", ""},
		{"?user=bob&reason=Invalid", "three", ""},
		{"?all_users=true&limit=2", "three two", ""},
		{"?status=Running", "", `status: "Running" is not one of`},
		{"?cursor=0", "", `cursor: "0" is not a cursor of this server`},
		{"?colour=red", "", `colour: is not a parameter of this list; use one of all_users`},
		{"?co%20lour=red", "", `"co lour": is not a parameter of this list`},
		{"?all_users=", "", `all_users: "" is neither true nor false`},
	} {
		a := s.send("GET", "/tasks"+tt.query, "")
		if tt.err != "" {
			a.wantError(t, 422, tt.err)
		} else if got := a.names(t); got != tt.want {
			t.Errorf("%s: %d %s, want %s", tt.query, a.StatusCode, got, tt.want)
		}
	}
	for query, want := range map[string]string{
		"": "data", "?all_users=1": "other data", "?all_users=1&status=Pending&name=data&limit=5&cursor=9": "data", "?all_users=1&cursor=5": "data", "?status=Bound": "",
	} {
		if got := s.send("GET", "/volumes"+query, "").names(t); got != want {
			t.Errorf("volumes%s: %s, want %s", query, got, want)
		}
	}
	s.send("GET", "/volumes?status=running", "").wantError(t, 422, `status: "running" is not one of [Pending Bound Lost Failed]`)
	s.send("GET", "/volumes?all_users=", "").wantError(t, 422, `all_users: "" is neither true nor false`)
}

// TestUnknownMethods checks that an unknown method gets the same response as a
// known method that a route does not support.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, method := range []string{"PROPFIND", "get"} {
		a := s.send(method, "/tasks", "")
		a.wantError(t, 405, method+" is not allowed on /tasks; use GET, HEAD")
		if a.Header.Get("Allow") != "GET, HEAD" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", method, a.Header)
		}
		s.send(method, "/nowhere", "").wantError(t, 404, "no such route: "+method+" /nowhere")
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	large := `{"run":"` + strings.Repeat("x", taskfile.MaxSize) + `"}`
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		want                     string
	}{
		{"an unknown route", "GET", "/nowhere", "", nil, 404, "no such route: GET /nowhere"},
		{"a route of another case", "GET", "/Tasks", "", nil, 404, "no such route: GET /Tasks"},
		{"an unknown task", "GET", "/tasks/none", "", nil, 404, "Task none not found"},
		{"another method", "PUT", "/tasks/submit", "{}", nil, 405, "PUT is not allowed on /tasks/submit; use "},
		{"no JSON", "POST", "/tasks/submit", "run: true", nil, 400, ""},
		{"no body", "POST", "/tasks/submit", "", nil, 400, ""},
		{"an unknown type", "POST", "/tasks/submit", "x", []string{"Content-Type", "text/plain"}, 415, `Content-Type: "text/plain" is not supported; send application/json`},
		{"a type that is none", "POST", "/tasks/submit", "x", []string{"Content-Type", ";;"}, 415, "Content-Type"},
		{"a packed body", "POST", "/tasks/submit", "x", []string{"Content-Encoding", "gzip"}, 415, `Content-Encoding: "gzip" is not supported`},
		{"a packed volume", "POST", "/volumes/create", "x", []string{"Content-Encoding", "gzip"}, 415, `Content-Encoding: "gzip" is not supported`},
		{"a packed preview", "POST", previewPath, "x", []string{"Content-Encoding", "br"}, 415, `Content-Encoding: "br" is not supported`},
		{"XML", "POST", "/tasks/submit", `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>`, []string{"Content-Type", "application/xml"}, 415, "Content-Type"},
		{"YAML for a volume", "POST", "/volumes/create", "name: a", []string{"Content-Type", typeYAML}, 415, "send a volume as application/json"},
		{"a body that is too large", "POST", "/tasks/submit", large, nil, 413, "larger than 131072 bytes"},
		{"a body that is too large for a volume", "POST", "/volumes/create", large, nil, 413, "larger than 131072 bytes"},
		{"a task that cannot run", "POST", "/tasks/submit", `{"run":"true","resources":{"accelerators":"A100:x"}}`, nil, 422, `resources.accelerators: "A100:x" is not NAME, NAME:COUNT or COUNT`},
		{"a field that is unknown", "POST", "/tasks/submit", `{"run":"true","runn":"true"}`, nil, 422, "runn"},
		{"too many nodes", "POST", "/tasks/submit", `{"run":"true","num_nodes":9}`, nil, 422, "num_nodes: 9 is more than the 8"},
		{"a volume without a size", "POST", "/volumes/create", `{"name":"data"}`, nil, 422, "size: a volume needs a size"},
		{"a head that is too large", "GET", "/tasks", "", []string{"X-Large", strings.Repeat("x", framing.HeadLimit)}, 431, "larger than 16384 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.send(tt.method, tt.path, tt.body, tt.headers...)
			a.wantError(t, tt.code, tt.want)
			if tt.code == 405 && !strings.Contains(a.Header.Get("Allow"), "POST") {
				t.Errorf("Allow: %q", a.Header.Get("Allow"))
			}
		})
	}
	if len(s.told()) != 0 {
		t.Errorf("commands %v", s.told())
	}
}

func TestPathsThatWouldBeReadAsOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, path := range []string{
		"/tasks//stop", "//tasks/stop", "/tasks/./stop", "/tasks/../tasks/stop", "/tasks/%2e/stop", "/tasks/%2E%2e/stop", "/tasks/.%2e/stop",
		"/tasks/x/../stop", "/tasks/x%2f..%2fstop", "/tasks/x%2F/stop", `/tasks/x\stop`, "/tasks/x%5cstop", "/tasks/x/stop/..", "/tasks/stop/.", "/tasks/stop/%2e",
	} {
		a := s.raw("POST " + path + " HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n")[0]
		a.wantError(t, 404, "no such route: POST "+path)
	}
	if len(s.told()) != 0 {
		t.Errorf("commands %v", s.told())
	}
	if a := s.send("POST", "/tasks/a..b/stop?x=/../", ""); a.StatusCode != 200 || len(s.told()) != 1 {
		t.Errorf("dots inside an id: %d, commands %v", a.StatusCode, s.told())
	}
}

// A server accepts a request line with an absolute URL, as proxies get.
func TestAbsoluteRequestURLs(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for request, code := range map[string]int{
		"GET http://x/tasks?limit=1": 200, "GET https://x/tasks": 200, "GET http://x": 200,
		"GET http://x//tasks": 404, "POST http://x/tasks//stop": 404, "GET http://x/tasks/x/../../volumes": 404,
	} {
		if a := s.raw(request + " HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n")[0]; a.StatusCode != code {
			t.Errorf("%s: %d %s, want %d", request, a.StatusCode, a.body, code)
		}
	}
}

func TestTakenIDIsReplaced(t *testing.T) {
	t.Parallel()
	taken := 0
	s := serve(t, &fake{verdict: func(c task.Command) (task.Result, error) {
		if taken--; taken >= 0 {
			return task.Result{Rejection: task.RejectedIDExists}, nil
		}
		return task.Result{ID: idOf(c), Warnings: []string{"mind the gap"}}, nil
	}})
	for _, tt := range []struct{ path, body string }{
		{"/tasks/submit", `{"run":"true"}`},
		{"/volumes/create", `{"name":"data","size":"1Gi"}`},
	} {
		taken = 2
		a := s.send("POST", tt.path, tt.body)
		ids, told := map[string]bool{}, s.take()
		for _, c := range told {
			ids[idOf(c)] = true
		}
		last := idOf(told[len(told)-1])
		if len(told) != 3 || len(ids) != 3 || !strings.Contains(a.body, last) || !strings.Contains(a.body, "mind the gap") {
			t.Errorf("%d %s after commands %v", a.StatusCode, a.body, told)
		}
	}
}

func idOf(c task.Command) string {
	if c.Submit != nil {
		return c.Submit.ID
	}
	return c.Create.ID
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	submit, create := "POST /tasks/submit", "POST /volumes/create"
	bodies := map[string]string{submit: `{"run":"true"}`, create: `{"name":"data","size":"1Gi"}`}
	for _, tt := range []struct {
		name, headers string
		code          int
		key           string
	}{
		{"none", "", 200, ""},
		{"one", "Idempotency-Key: 3f-A~!\r\n", 200, "3f-A~!"},
		{"255 characters", "Idempotency-Key: " + strings.Repeat("k", 255) + "\r\n", 200, strings.Repeat("k", 255)},
		{"256 characters", "Idempotency-Key: " + strings.Repeat("k", 256) + "\r\n", 422, ""},
		{"an empty one", "Idempotency-Key: \r\n", 422, ""},
		{"two words", "Idempotency-Key: a b\r\n", 422, ""},
		{"another script", "Idempotency-Key: schlüssel\r\n", 422, ""},
		{"two of them", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", 422, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for route, body := range bodies {
				a := s.raw(fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nContent-Length: %d\r\n%s\r\n%s", route, len(body), tt.headers, body))[0]
				if tt.code != 200 {
					a.wantError(t, tt.code, "Idempotency-Key: must be one word")
					continue
				}
				if told := s.take(); a.StatusCode != 200 || len(told) != 1 || keyIn(told[0]) != tt.key {
					t.Errorf("%s: %d %s, commands %+v", route, a.StatusCode, a.body, told)
				}
			}
		})
	}
}

func keyIn(c task.Command) string {
	if c.Submit != nil {
		return c.Submit.Key
	}
	return c.Create.Key
}

func TestAKeyThatWasUsedForSomethingElse(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) {
		return task.Result{ID: "abc12345", Rejection: task.RejectedKeyReuse}, nil
	}})
	s.send("POST", "/tasks/submit", `{"run":"true"}`, keyHeader, "k").wantError(t, 409, "was already used with another body, for abc12345")
	s.send("POST", "/volumes/create", `{"name":"data","size":"1Gi"}`, keyHeader, "k").wantError(t, 409, "was already used with another body, for abc12345")
}

func TestErrorsOfTheLog(t *testing.T) {
	t.Parallel()
	var fault error
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) { return task.Result{}, fault }})
	for _, tt := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{"away", problem.New(problem.Unavailable, "the log is away"), 503, "the log is away"},
		{"wrapped", fmt.Errorf("append: %w", problem.New(problem.Unavailable, "away")), 503, "append: away"},
		{"too large", problem.New(problem.TooLarge, "too much"), 413, "too much"},
		{"forbidden", problem.New(problem.Forbidden, "not you"), 403, "not you"},
		{"conflict", problem.New(problem.Conflict, "in use"), 409, "in use"},
		{"a fault", errors.New("disk /dev/sda is on fire"), 500, "internal error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fault = tt.err
			for _, route := range []string{"POST /tasks/a/stop", "POST /tasks/stop", "DELETE /volumes/v"} {
				method, path, _ := strings.Cut(route, " ")
				a := s.send(method, path, "")
				a.wantError(t, tt.code, tt.want)
				if after := a.Header.Get("Retry-After"); (after != "") != (tt.code == http.StatusServiceUnavailable) {
					t.Errorf("Retry-After: %q", after)
				}
				if strings.Contains(a.body, "sda") {
					t.Errorf("the answer tells internals: %s", a.body)
				}
			}
		})
	}
}

func TestAPanicIsAFaultOfOneRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{verdict: func(task.Command) (task.Result, error) { panic("secret state") }})
	a := s.send("POST", "/tasks/stop", "", requestID, "my-id-1")
	a.wantError(t, 500, "internal error; report it to the administrator with the request id my-id-1")
	if strings.Contains(a.body, "secret") || a.Header.Get(requestID) != "my-id-1" {
		t.Errorf("%v %s", a.Header, a.body)
	}
	if log := s.logged.String(); !strings.Contains(log, "my-id-1") || !strings.Contains(log, "secret state") {
		t.Errorf("log %q", log)
	}
	s.send("GET", "/healthz", "").wantOK(t)
}

func TestEveryAnswerHasARequestID(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		name, given string
		kept        bool
	}{
		{"a good one is kept", "a.B_c-9", true},
		{"128 characters are kept", strings.Repeat("a", 128), true},
		{"129 are not", strings.Repeat("a", 129), false},
		{"other characters are not", "a b", false},
		{"markup is not", "<script>", false},
		{"none is made", "-", false},
	} {
		for _, path := range []string{"/", "/nowhere"} {
			got := s.send("GET", path, "", requestID, tt.given).Header.Get(requestID)
			if (got == tt.given) != tt.kept || !requestIDForm.MatchString(got) {
				t.Errorf("%s: %s answers %q", tt.name, path, got)
			}
		}
	}
}

func TestAConnectionStaysInStep(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.fold(t)
	s := serve(t, f)
	post := func(path, headers, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, headers, len(body), body)
	}
	smuggled := "GET /tasks/smuggled HTTP/1.1\r\nHost: x\r\nX-User: eve\r\n\r\n"
	next := "GET /tasks HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		code          int
	}{
		{"no user", post("/tasks/submit", "", smuggled), 401},
		{"no such route", post("/nowhere", "X-User: ann\r\n", smuggled), 404},
		{"a dubious path", post("/tasks//stop", "X-User: ann\r\n", smuggled), 404},
		{"another method", post("/tasks", "X-User: ann\r\n", smuggled), 405},
		{"another type", post("/tasks/submit", "X-User: ann\r\nContent-Type: text/plain\r\n", smuggled), 415},
		{"a body where none is read", post("/tasks/stop", "X-User: ann\r\n", smuggled), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := s.raw(tt.request, next)
			if first, second := answers[0], answers[1]; first.StatusCode != tt.code || second.StatusCode != 200 || second.body != `{"tasks":[]}` {
				t.Errorf("%d %s, then %d %s", first.StatusCode, first.body, second.StatusCode, second.body)
			}
		})
	}
	for name, request := range map[string]string{
		"a large body": post("/tasks/submit", "X-User: ann\r\n", strings.Repeat(smuggled, 1+taskfile.MaxSize/len(smuggled))),
		"a large body in chunks": "POST /tasks/submit HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("4000\r\n"+strings.Repeat("x", 0x4000)+"\r\n", 9) + "0\r\n\r\n",
		"a batch of nobody": post("/tasks/batch", "", strings.Repeat(smuggled, 1000)),
		"a form":            post("/tasks/submit", "X-User: ann\r\nContent-Type: multipart/form-data; boundary=b\r\n", strings.Repeat(smuggled, 1+taskfile.MaxSize/len(smuggled))),
	} {
		if got := s.until(request + next); len(got) != 1 || got[0].StatusCode < 400 || !got[0].Close {
			t.Errorf("%s: %d answers, the first %+v", name, len(got), got)
		}
	}
	if reads := s.reads.Load(); reads != 6 { // the second request of each connection
		t.Errorf("%d reads; a body was read as a request", reads)
	}
}

// TestALogWithoutRoom checks that nothing is appended to a full log.
func TestALogWithoutRoom(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{capacityErr: problem.New(problem.Unavailable, "the disk is full")})
	s.send("POST", "/tasks/submit", `{"run":"true"}`).wantError(t, 503, "the disk is full")
	s.send("POST", "/volumes/create", `{"name":"data","size":"1Gi"}`).wantError(t, 503, "the disk is full")
	if got := s.told(); len(got) > 0 {
		t.Errorf("commands %+v", got)
	}
}
