package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/test/testkit/must"
)

// notifying returns a server that may send notifications to example.com.
func notifying(t *testing.T) *served {
	t.Helper()
	hosts, err := callback.ParseHosts([]string{"*.example.com"})
	must.Succeed(t, err)
	return serveWith(t, &fake{}, func(c *Config) {
		c.Policy.Callbacks, c.NotifySecret = hosts, func(user string) string { return "whsec_" + user }
		c.Preview = noObjects
	})
}

// The parameter of a single task replaces the URL in the task; the parameter of a batch is for
// the tasks without a URL.
func TestURLsOfNotifications(t *testing.T) {
	t.Parallel()
	s := notifying(t)
	s.send("POST", "/tasks/submit?notify=https://a.example.com/", `{"name":"a","run":"true"}`)
	s.send("POST", "/tasks/submit?notify=https://a.example.com/", `{"name":"b","run":"true","event_callback":"https://b.example.com/"}`)
	s.send("POST", "/tasks/submit", "name: c\nrun: 'true'\nevent_callback: https://c.example.com/", "Content-Type", "application/yaml")
	s.send("POST", "/tasks/submit", `{"name":"d","run":"true"}`)
	b := s.send("POST", batchPath+"?notify=https://a.example.com/", `[{"name":"e","run":"true"},{"name":"f","run":"true","event_callback":"https://b.example.com/"},
		{"run":"true","event_callback":"https://example.org/"}]`).batch(t)
	command := s.send("POST", "/tasks/submit", `{"name":"g","run":"true","event_callback":"curl https://a.example.com/"}`)
	got := map[string]string{}
	for _, c := range s.told() {
		got[c.Submit.Task.Name] = c.Submit.Task.EventCallback
	}
	want := map[string]string{"a": "https://a.example.com/", "b": "https://a.example.com/", "c": "https://c.example.com/", "d": "", "e": "https://a.example.com/", "f": "https://b.example.com/", "g": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("URLs (-want +got):\n%s", diff)
	}
	if r := b.Results[2]; r.Code != 422 || r.Field != "event_callback" || r.Reason != "NotAllowed" {
		t.Errorf("a host that is not allowed: %+v", r)
	}
	var answer task.Submitted
	if err := json.Unmarshal([]byte(command.body), &answer); err != nil || !cmp.Equal(answer.Warnings, []string{"event_callback: not called, because the value is not an https URL; the server runs no commands of users"}) {
		t.Errorf("a shell command: %s", command.body)
	}
}

func TestURLsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	s, off := notifying(t), serveWith(t, &fake{}, func(c *Config) { c.Policy = policy.Tasks{} })
	for _, path := range []string{"/tasks/submit", previewPath} {
		s.send("POST", path, `{"run":"true","event_callback":"https://169.254.169.254/"}`).wantError(t, 422, `event_callback: the host "169.254.169.254" is not allowed on this server; its administrator can add it to --notify-hosts`)
		s.send("POST", path, `{"run":"true","event_callback":"http://a.example.com/"}`).wantError(t, 422, "event_callback: the URL must begin with https://")
	}
	off.send("POST", "/tasks/submit?notify=https://a.example.com/", `{"run":"true"}`).wantError(t, 422, "event_callback: this server sends no notifications; its administrator can set --notify-hosts and --secrets-key-file")
	off.send("GET", callback.SecretPath, "").wantError(t, 422, "--notify-hosts")
	if told := len(s.told()) + len(off.told()); told > 0 {
		t.Errorf("%d commands", told)
	}
}

func TestSecretOfNotifications(t *testing.T) {
	t.Parallel()
	s := notifying(t)
	if a := s.send("GET", callback.SecretPath, "", userHeader, "bob"); a.StatusCode != 200 || a.body != `{"secret":"whsec_bob"}` || a.Header.Get("Cache-Control") == "" {
		t.Errorf("%d %s %v", a.StatusCode, a.body, a.Header)
	}
	if !strings.Contains(s.logged.String(), `command="read notify secret"`) {
		t.Errorf("the audit log lacks the request: %s", s.logged)
	}
}
