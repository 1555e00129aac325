package features

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	yamlv3 "gopkg.in/yaml.v3"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const monitoring = "../../deploy/monitoring"

// jobLabel is the job label of the servers in Prometheus.
const jobLabel = "k8s-cli"

// A prometheus is a process of Debian's Prometheus, which scrapes servers once a second.
type prometheus struct {
	url     string
	targets string // file with the addresses to scrape
	scraped []string
}

const prometheusConfig = `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: ` + jobLabel + `
    file_sd_configs: [{files: [targets.json]}]
`

// runPrometheus starts a Prometheus with these rules and without targets.
func runPrometheus(t *testing.T, rules []byte) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no prometheus on the PATH; make prometheus says where one is")
	}
	dir, address := t.TempDir(), testkit.ClosedPort(t)
	p := &prometheus{url: "http://" + address, targets: filepath.Join(dir, "targets.json")}
	must.Write(t, filepath.Join(dir, "prometheus.yaml"), prometheusConfig)
	must.Write(t, filepath.Join(dir, "rules.yaml"), string(rules))
	p.scrape(t)
	testkit.Command{Program: path, Args: []string{
		"--config.file=" + filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--web.listen-address=" + address, "--log.level=warn",
	}}.Run(t)
	eventually(t, "Prometheus is ready", func() (string, bool) {
		answer, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return err.Error(), false
		}
		_ = answer.Body.Close()
		return answer.Status, answer.StatusCode == http.StatusOK
	})
	return p
}

// scrape adds addresses to the targets.
func (p *prometheus) scrape(t *testing.T, addresses ...string) {
	t.Helper()
	p.scraped = append(p.scraped, addresses...)
	text := must.Encode(t, []map[string][]string{{"targets": append([]string{}, p.scraped...)}})
	must.Write(t, p.targets+".new", string(text))
	must.Succeed(t, os.Rename(p.targets+".new", p.targets))
}

// ask sends a request to Prometheus' API and decodes the data of the answer.
func (p *prometheus) ask(t *testing.T, path string, query url.Values, data any) {
	t.Helper()
	response, err := http.Get(p.url + "/api/v1/" + path + "?" + query.Encode())
	must.Succeed(t, err)
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("Prometheus answers %s %v with %s %s, %v", path, query, response.Status, answer.Error, err)
	}
}

// values returns the current values of a query, except NaN.
func (p *prometheus) values(t *testing.T, query string) (values []string) {
	t.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.ask(t, "query", url.Values{"query": {query}}, &data)
	for _, series := range data.Result {
		if value := fmt.Sprint(series.Value[1]); value != "NaN" {
			values = append(values, value)
		}
	}
	return values
}

// firing returns the names of the firing alerts.
func (p *prometheus) firing(t *testing.T) (names []string) {
	t.Helper()
	var data struct {
		Alerts []struct {
			Labels, Annotations map[string]string
			State               string
		}
	}
	p.ask(t, "alerts", nil, &data)
	for _, alert := range data.Alerts {
		for key, text := range alert.Annotations {
			if text == "" || strings.Contains(text, "<error") || strings.Contains(text, "<no value>") {
				t.Errorf("%s of %s is %q", key, alert.Labels["alertname"], text)
			}
		}
		if alert.State == "firing" {
			names = append(names, alert.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// awaitFiring waits until all of these alerts fire.
func (p *prometheus) awaitFiring(t *testing.T, names ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("alerts %v fire", names), func() (string, bool) {
		firing := p.firing(t)
		return fmt.Sprint(firing), !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(firing, name) })
	})
}

// awaitQuiet waits until no alert fires.
func (p *prometheus) awaitQuiet(t *testing.T) {
	t.Helper()
	eventually(t, "no alert fires", func() (string, bool) {
		firing := p.firing(t)
		return fmt.Sprint(firing), len(firing) == 0
	})
}

// An alertRule is an alert of deploy/monitoring.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

var (
	minutes = regexp.MustCompile(`\b([0-9]+)m\b`)
	seconds = regexp.MustCompile(`(_seconds\) > )([0-9]+)$`)
)

// hastyRules returns the alerts, and the text of a rules file in which each minute is
// replaced by a second.
func hastyRules(t *testing.T) (alerts []alertRule, text []byte) {
	t.Helper()
	original := must.Read(t, filepath.Join(monitoring, "alerts.yaml"))
	type group struct {
		Name  string      `yaml:"name"`
		Rules []alertRule `yaml:"rules"`
	}
	var file struct {
		Groups []group `yaml:"groups"`
	}
	must.Succeed(t, yamlv3.Unmarshal(original, &file))
	for _, g := range file.Groups {
		alerts = append(alerts, g.Rules...)
		for i := range g.Rules {
			r := &g.Rules[i]
			r.For = minutes.ReplaceAllString(r.For, "${1}s")
			r.Expr = minutes.ReplaceAllString(r.Expr, "${1}s")
			r.Expr = seconds.ReplaceAllStringFunc(r.Expr, func(end string) string {
				m := seconds.FindStringSubmatch(end)
				n, _ := strconv.Atoi(m[2])
				return m[1] + strconv.FormatFloat(float64(n)/60, 'f', -1, 64)
			})
		}
	}
	text, err := yamlv3.Marshal(file)
	must.Succeed(t, err)
	return alerts, text
}

// panelQueries returns the queries of the dashboard by panel, as Grafana would send them.
func panelQueries(t *testing.T) map[string]string {
	t.Helper()
	text := must.Read(t, filepath.Join(monitoring, "dashboard.json"))
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	must.Succeed(t, json.Unmarshal(text, &dashboard))
	queries := map[string]string{}
	fill := strings.NewReplacer("$job", jobLabel, "$__rate_interval", "1m")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title+" "+target.RefID] = fill.Replace(target.Expr)
		}
	}
	if len(queries) == 0 {
		t.Fatal("the dashboard asks for nothing")
	}
	return queries
}
