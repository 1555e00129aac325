package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test binary behave like the program, so that a test can kill it.
const asProgram = "K8S_CLI_BUCKET_TEST_PROGRAM"

// startProcess starts the program as a process of its own.
func (n *node) startProcess(t *testing.T, variables map[string]string) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(n.plan)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), program, "send")
	process.Env = append(os.Environ(), asProgram+"=1", planVariable+"="+string(raw))
	for name, value := range variables {
		process.Env = append(process.Env, name+"="+value)
	}
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process
}

// pause stops the program between two passes.
func (n *node) pause(t *testing.T) {
	t.Helper()
	n.stop()
	if err := <-n.ended; err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(n.Control, resultFile)); err != nil {
		t.Fatal(err)
	}
}

// interceptor passes requests on to the store. Of the first PUT of an object, interceptor keeps back
// the response, and closes stored.
func interceptor(t *testing.T, s *store, object string) (server *httptest.Server, stored chan struct{}) {
	t.Helper()
	stored = make(chan struct{})
	first := true
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.address})
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPut && strings.HasSuffix(r.Request.URL.Path, object) && first {
			first = false
			close(stored)
			<-r.Request.Context().Done()
		}
		return nil
	}
	server = httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server, stored
}

// TestKilledAfterTheObjectIsStored kills the program when the store has the object, but the program has
// no response. Then the task changes the file again.
func TestKilledAfterTheObjectIsStored(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"changed": 10})
	n := newNode(t, s, "data")
	n.pause(t)
	for _, name := range []string{"changed", "new"} {
		n.write(t, name, "first of "+name)
		server, stored := interceptor(t, s, name)
		variables := s.variables()
		variables["AWS_ENDPOINT_URL"] = server.URL
		process := n.startProcess(t, variables)
		eventually(t, func() bool {
			select {
			case <-stored:
				return true
			default:
				return false
			}
		})
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", process.Process.Pid))
		if err != nil || strings.Contains(string(environ), secret) || strings.Contains(string(environ), keyID) || !strings.Contains(string(environ), planVariable) {
			t.Errorf("the environment of the process: %q, %v", environ, err)
		}
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait() // reports the signal
		if !s.has("data", name, "first of "+name) {
			t.Fatalf("%s is not in the bucket", name)
		}
		n.write(t, name, "second of "+name)
	}
	n.begin(t, s.variables())
	if got := n.result(t); got != allStored {
		t.Error(got)
	}
	for _, name := range []string{"changed", "new"} {
		if !s.has("data", name, "second of "+name) {
			t.Errorf("%s in the bucket is not the last version", name)
		}
	}
}

// TestRecordWithATornLine opens a record whose program was killed while it wrote an entry.
func TestRecordWithATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	add := func(name string) {
		r, err := openRecord(path)
		if err == nil {
			err = r.add(stored{Path: name, Local: version{Size: 1}})
		}
		if err == nil {
			err = r.close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("whole")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for torn := range len(whole) {
		if err := os.WriteFile(path, append(whole[:len(whole):len(whole)], whole[:torn]...), 0o600); err != nil {
			t.Fatal(err)
		}
		add("after")
		r, err := openRecord(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.entries) != 2 || r.entries["after"].Local.Size != 1 {
			t.Fatalf("after a line of %d bytes, the record has %v", torn, r.entries)
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
}
