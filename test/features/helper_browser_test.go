package features

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A page is a page of headless Chromium. The test drives Chromium by the Chrome DevTools Protocol,
// https://chromedevtools.github.io/devtools-protocol/, through a pipe.
type page struct {
	requests  io.Writer
	responses *bufio.Reader
	session   string
	calls     int
	errors    []string // uncaught exceptions of the page
}

// A message is a response or an event of the Chrome DevTools Protocol. Zero bytes separate messages.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// openPage starts Chromium with an empty profile and opens a URL.
func openPage(t *testing.T, url string) *page {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	theirIn, in, err := os.Pipe()
	must.Succeed(t, err)
	out, theirOut, err := os.Pipe()
	must.Succeed(t, err)
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+home)
	c.Env, c.ExtraFiles = testkit.Environment(home), []*os.File{theirIn, theirOut} // descriptors 3 and 4 of Chromium
	var said bytes.Buffer
	c.Stderr = &said
	must.Succeed(t, c.Start())
	t.Cleanup(func() { _ = c.Wait() }) // the context has ended the process
	_, _ = theirIn.Close(), theirOut.Close()
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	p := &page{requests: in, responses: bufio.NewReader(out)}
	var target struct{ TargetID string }
	p.call(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	p.call(t, "Runtime.enable", nil, nil)
	p.call(t, "Page.enable", nil, nil)
	p.call(t, "Page.navigate", map[string]any{"url": url}, nil)
	return p
}

// call calls a method of the protocol and decodes its result.
func (p *page) call(t *testing.T, method string, params map[string]any, result any) {
	t.Helper()
	p.calls++
	request := map[string]any{"id": p.calls, "method": method}
	if params != nil {
		request["params"] = params
	}
	if p.session != "" {
		request["sessionId"] = p.session
	}
	encoded, err := json.Marshal(request)
	if err == nil {
		_, err = p.requests.Write(append(encoded, 0))
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for {
		raw, err := p.responses.ReadBytes(0)
		if err != nil {
			t.Fatalf("%s: Chromium closed the pipe: %v", method, err)
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m); err != nil {
			t.Fatalf("%s: %v in %.300q", method, err, raw)
		}
		switch {
		case m.Method == "Runtime.exceptionThrown":
			p.errors = append(p.errors, string(m.Params))
		case m.ID == p.calls && m.Error != nil:
			t.Fatalf("%s: %s", method, m.Error)
		case m.ID == p.calls:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					t.Fatalf("%s: %v in %.300q", method, err, m.Result)
				}
			}
			return
		}
	}
}

// eval returns the string that an expression in JavaScript evaluates to.
func (p *page) eval(t *testing.T, expression string) string {
	t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	p.call(t, "Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		return string(got.ExceptionDetails)
	}
	text, _ := got.Result.Value.(string)
	return text
}

// awaitText waits until the text of the first element that matches a selector contains want.
func (p *page) awaitText(t *testing.T, selector, want string) {
	t.Helper()
	quoted := must.Encode(t, selector)
	eventually(t, want+" in "+selector, func() (string, bool) {
		if text := p.eval(t, "document.querySelector("+string(quoted)+")?.innerText"); strings.Contains(text, want) {
			return text, true
		}
		return p.eval(t, "location + ' ' + document.body?.innerText.slice(0, 500)"), false
	})
}
