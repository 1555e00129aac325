package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"k8s-cli/pkg/task"
)

// counting returns a server that serves its own metrics.
func counting(t *testing.T, f *fake) *served {
	t.Helper()
	r := prometheus.NewRegistry()
	s := serveWith(t, f, func(c *Config) { c.Metrics = promhttp.HandlerFor(r, promhttp.HandlerOpts{}) })
	r.MustRegister(s.server.Metrics())
	return s
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	s := counting(t, &fake{})
	for range 3 {
		s.send(http.MethodGet, "/tasks/anns", "")
	}
	s.send(http.MethodGet, "/tasks/y", "")
	s.send(http.MethodHead, "/tasks/anns", "")
	s.send(http.MethodGet, "/tasks/anns", "", userHeader, "-")
	s.send(http.MethodGet, "/nowhere/"+strings.Repeat("x", 50), "")
	s.send(http.MethodPost, "/tasks/submit", "{")
	s.send(http.MethodPost, "/tasks/submit", small)
	s.send(http.MethodDelete, "/tasks", "")
	s.health.Ready = false
	s.send(http.MethodGet, "/tasks", "")
	got := s.send(http.MethodGet, "/metrics", "", userHeader, "-").body
	for _, want := range []string{
		`k8s_cli_http_requests_total{code="200",method="GET",route="/tasks/:id"} 4`,
		`k8s_cli_http_requests_total{code="200",method="HEAD",route="/tasks/:id"} 1`,
		`k8s_cli_http_requests_total{code="401",method="GET",route="/tasks/:id"} 1`,
		`k8s_cli_http_requests_total{code="400",method="POST",route="/tasks/submit"} 1`,
		`k8s_cli_http_requests_total{code="200",method="POST",route="/tasks/submit"} 1`,
		`k8s_cli_http_requests_total{code="404",method="",route="other"} 1`,
		`k8s_cli_http_requests_total{code="405",method="",route="other"} 1`,
		`k8s_cli_http_requests_total{code="503",method="",route="other"} 1`,
		`k8s_cli_http_request_duration_seconds_count{method="GET",route="/tasks/:id"} 5`,
		`k8s_cli_http_request_duration_seconds_bucket{method="GET",route="/tasks/:id",le="+Inf"} 5`,
		`k8s_cli_http_streams{kind="logs"} 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "/tasks/anns") || strings.Contains(got, "nowhere") || strings.Contains(got, `route="/volumes"`) {
		t.Errorf("paths, or routes that nobody asked:\n%s", got)
	}
}

func TestMetricsAreElsewhere(t *testing.T) {
	t.Parallel()
	serve(t, &fake{}).send(http.MethodGet, "/metrics", "").wantError(t, 404, "no such route")
}

// TestAudit checks that the audit log has every request that changes something, and every
// request of an administrator that reads an object of another user, with the user, the command and the
// result.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{verdict: func(c task.Command) (task.Result, error) {
		if c.Stop != nil && c.Stop.ID != "anns" {
			return task.Result{Rejection: task.RejectedNotFound}, nil
		}
		if c.Submit != nil {
			return task.Result{ID: "made1234"}, nil
		}
		return task.Result{}, nil
	}}, withAuthenticator)
	bob, root := []string{"Authorization", "Bearer bobs", requestID, "r1"}, []string{"Authorization", "Bearer roots", requestID, "r2"}
	s.send(http.MethodGet, "/tasks/anns", "", bob...)
	s.send(http.MethodGet, "/tasks/anns", "", root...)
	s.send(http.MethodPost, "/tasks/submit", small, bob...)
	s.send(http.MethodPost, "/tasks/other/stop", "", bob...)
	s.send(http.MethodPost, "/tasks/anns/stop", "", root...)
	s.send(http.MethodPost, "/tasks/stop?all_users=true", "", bob...)
	s.wantLogged(
		`logger=audit user=root command=read id=anns code=200 verdict=accepted request=r2 peer=127.0.0.1 owner=ann`,
		`logger=audit user=bob command=submit id=made1234 code=200 verdict=accepted request=r1 peer=127.0.0.1`,
		`logger=audit user=bob command=stop id=other code=404 verdict="Task other not found" request=r1 peer=127.0.0.1`,
		`logger=audit user=root command=stop id=anns code=200 verdict=accepted request=r2 peer=127.0.0.1 owner=ann`,
		`logger=audit user=bob command="stop all" id="all_users=true" code=403 verdict="all_users: only`,
	)
}
