package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/notify"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/events"
	"k8s-cli/pkg/submit"
	"k8s-cli/test/testkit/must"
)

var metricName = regexp.MustCompile(`fqName: "([^"]+)"`)

// metricNames returns the names of all metrics that a server registers.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	parts := []prometheus.Collector{
		(&queue.Log{}).Metrics(), (&events.Stream{}).Metrics(), (&cache.Informers{}).Metrics(), (&submit.Controller{}).Metrics(), (&api.Server{}).Metrics(), (&notify.Notifier{}).Metrics(), &health{},
		newKubernetesMetrics(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	names := map[string]bool{}
	for _, part := range parts {
		descs := make(chan *prometheus.Desc, 100)
		part.Describe(descs)
		close(descs)
		for d := range descs {
			names[metricName.FindStringSubmatch(d.String())[1]] = true
		}
	}
	runtime := prometheus.NewRegistry()
	runtime.MustRegister(collectors.NewGoCollector())
	gathered, err := runtime.Gather()
	must.Succeed(t, err)
	for _, family := range gathered {
		names[family.GetName()] = true
	}
	return names
}

// TestMetricsThatAreNamedExist checks that all metrics in the dashboard, the alerts and
// the documentation exist, and that the documentation names all metrics of the server.
func TestMetricsThatAreNamedExist(t *testing.T) {
	names := metricNames(t)
	said := map[string]bool{}
	for _, file := range []string{"deploy/monitoring/dashboard.json", "deploy/monitoring/alerts.yaml", "docs/metrics.md"} {
		text := must.Read(t, filepath.Join("..", "..", file))
		used := regexp.MustCompile(`\b(?:k8s_cli|go|process)_[a-z0-9_]+`).FindAllString(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range used {
			if strings.HasSuffix(file, ".md") {
				said[name] = true
			}
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			if !names[name] && !names[base] {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "k8s_cli_") && !said[name] {
			t.Errorf("docs/metrics.md says nothing of %s", name)
		}
	}
}

// TestMetricNames checks that the names of metrics consist of lower-case words.
func TestMetricNames(t *testing.T) {
	for name := range metricNames(t) {
		if strings.HasPrefix(name, "k8s_cli_") && !regexp.MustCompile(`^k8s_cli(_[a-z]+)+$`).MatchString(name) {
			t.Errorf("%s is no name as Prometheus wants them", name)
		}
	}
}

func TestOperatorsAreServed(t *testing.T) {
	listener, err := listenAdmin("127.0.0.1:0")
	must.Succeed(t, err)
	counted := prometheus.NewRegistry()
	must.Succeed(t, register(counted, newKubernetesMetrics()))
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serveAdmin(ctx, listener, metricsHandler(counted)) }()
	for path, want := range map[string]int{"/metrics": 200, "/debug/pprof/cmdline": 200, "/debug/pprof/": 200, "/tasks": 404} {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		must.Succeed(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
	cancel()
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestEveryAlertIsTested checks that the tests for promtool cover every alert.
func TestEveryAlertIsTested(t *testing.T) {
	read := func(name string) string {
		return string(must.Read(t, filepath.Join("..", "..", "deploy", "monitoring", name)))
	}
	tests := read("alerts_test.yaml")
	alerts := regexp.MustCompile(`- alert: (\w+)\n`).FindAllStringSubmatch(read("alerts.yaml"), -1)
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	for _, alert := range alerts {
		for _, want := range []string{`alertname: ` + alert[1] + `}`, `{alertname="` + alert[1] + `"}`} {
			if !strings.Contains(tests, want) {
				t.Errorf("alerts_test.yaml lacks %s", want)
			}
		}
	}
}

// TestAlertsFire runs the tests of the alerts with promtool: every alert fires on its
// fault and does not fire without a fault.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool on the PATH; make prometheus says where one is")
	}
	said, err := exec.CommandContext(t.Context(), promtool, "test", "rules", filepath.Join("..", "..", "deploy", "monitoring", "alerts_test.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
