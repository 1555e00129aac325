package features

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

var adminLine = regexp.MustCompile(`msg="serving metrics and profiles" listen=(\S+)\n`)

// A server that has run a task exports every metric of the dashboard, to operators only. The
// log of the server has an audit line with the user of the task.
func TestMetricsAndAudit(t *testing.T) {
	t.Parallel()
	s := start(t, "--admin-listen", "127.0.0.1:0")
	ann := s.as(t, "ann")
	id := ann.submit(t, "run: true")
	ann.await(t, id, task.Completed)
	if got := s.get(t, "", "/metrics"); got.code != http.StatusNotFound {
		t.Errorf("metrics for everybody: %d", got.code)
	}
	answer, err := http.Get("http://" + s.process.adminAddress(t) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"k8s_cli_ready 1\n", "k8s_cli_leader 1\n", `k8s_cli_objects_created_total{kind="task"} 1` + "\n", `k8s_cli_tasks{phase="completed"} 1` + "\n", "k8s_cli_backlog_tasks 0\n",
		`k8s_cli_http_requests_total{code="200",method="POST",route="/tasks/submit"} 1` + "\n", `k8s_cli_kubernetes_requests_total{code="201",method="POST"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	dashboard, err := os.ReadFile(filepath.Join("..", "..", "deploy", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\b(?:k8s_cli|go|process)_[a-z0-9_]+`).FindAllString(string(dashboard), -1) {
		if !regexp.MustCompile(`(?m)^` + name + `[ {]`).Match(text) {
			t.Errorf("the dashboard asks for %s, of which there is nothing", name)
		}
	}
	if want := "logger=audit user=ann command=submit id=" + id + " code=200 verdict=accepted"; !strings.Contains(s.process.Said(), want) {
		t.Errorf("the log has no %q", want)
	}
}
