package features

import (
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// promtoolAlone maps the alerts whose condition only deploy/monitoring/alerts_test.yaml
// creates to the reason.
var promtoolAlone = map[string]string{
	"K8sCliInternalErrors": "a 500 is a fault of the server, and none is known",
}

// Every panel of the dashboard shows data of a real server that a real Prometheus scrapes.
// Each alert fires while its condition holds, and only then.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	need(t)
	alerts, rules := hastyRules(t)
	prom := runPrometheus(t, rules)
	w := watchedServer(t, prom)
	ann := w.as(t, "ann")
	ann.run(t, "run: echo fine")
	limitLog(t, w.js, 64<<20)

	for panel, query := range panelQueries(t) {
		eventually(t, panel+" shows something", func() (string, bool) {
			w.get(t, "ann", "/tasks")
			w.get(t, "ann", "/tasks/none") // a request that fails
			return query, len(prom.values(t, query)) > 0
		})
	}
	prom.awaitQuiet(t)

	told := map[string]bool{}
	for _, step := range []struct {
		name   string
		cause  func(*testing.T)
		alerts []string
		mend   func(*testing.T) // nil if the condition stays
	}{
		{
			"the API server is away",
			func(*testing.T) { w.way.Close() },
			[]string{"K8sCliClusterStale", "K8sCliNoLeader"},
			nil,
		},
		{
			"a task is submitted that nobody applies",
			func(t *testing.T) { ann.submit(t, "run: true") },
			[]string{"K8sCliBacklogDelayed"},
			w.way.heal,
		},
		{
			"another program's stream has the name of the events",
			func(t *testing.T) {
				replaceStream(t, w.js, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"another.program"}})
				ann.submit(t, idle)
			},
			[]string{"K8sCliEventsNotPublished"},
			func(t *testing.T) { removeStream(t, w.js, "EVENTS") },
		},
		{
			"the command log is nearly full",
			func(t *testing.T) { limitLog(t, w.js, 1.05*logSize(t, w.js)); w.get(t, "ann", "/tasks") },
			[]string{"K8sCliCommandLogFull"},
			func(t *testing.T) { limitLog(t, w.js, 64<<20); w.get(t, "ann", "/tasks") },
		},
		{
			"NATS is away",
			func(*testing.T) { w.nats.Shutdown(); w.nats.WaitForShutdown() },
			[]string{"K8sCliCommandLogStale"},
			func(t *testing.T) { testkit.RunNATS(t, w.store, w.port) },
		},
		{
			"a server may not read the cluster",
			func(t *testing.T) { prom.scrape(t, w.powerless(t)) },
			[]string{"K8sCliNotReady"},
			nil,
		},
		{
			"the one that was ready has ended",
			func(t *testing.T) { w.process.terminate(t) },
			[]string{"K8sCliDown"},
			nil,
		},
	} {
		t.Logf("%s: %v", step.name, step.alerts)
		step.cause(t)
		prom.awaitFiring(t, step.alerts...)
		if step.mend != nil {
			step.mend(t)
			prom.awaitQuiet(t)
		}
		for _, name := range step.alerts {
			told[name] = true
		}
	}
	for _, alert := range alerts {
		if !told[alert.Alert] && promtoolAlone[alert.Alert] == "" {
			t.Errorf("nothing was done to make %s fire", alert.Alert)
		}
	}
}

// watched is a server that Prometheus scrapes, with the means to take away what the server
// needs.
type watched struct {
	*server
	way   apiLink
	nats  *natsserver.Server
	store string // of NATS
	port  int    // of NATS
	js    jetstream.JetStream
}

func watchedServer(t *testing.T, prom *prometheus) *watched {
	t.Helper()
	w := &watched{way: linkToAPI(t), store: t.TempDir()}
	w.nats = testkit.RunNATS(t, w.store, 0)
	w.port = w.nats.Addr().(*net.TCPAddr).Port
	w.js = testkit.JetStream(t, w.nats.ClientURL())
	w.server = start(t, "--admin-listen", "127.0.0.1:0", "--kubeconfig", w.way.kubeconfig(t), "--nats-url", w.nats.ClientURL())
	prom.scrape(t, w.process.adminAddress(t))
	return w
}

var adminLine = regexp.MustCompile(`msg="serving metrics and profiles" listen=(\S+)\n`)

// adminAddress waits until the server serves operators, and returns the address.
func (p process) adminAddress(t *testing.T) string {
	t.Helper()
	line := p.Line(adminLine)
	wait(t, line.Found(), "operators to be served")
	return line.Match()[1]
}

// powerless starts another server on the same log, without rights in the cluster, and
// returns the address at which it serves operators.
func (w *watched) powerless(t *testing.T) (address string) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	must.Write(t, key, "0123456789abcdef0123456789abcdef")
	s := &server{cluster: w.cluster, flags: []string{
		"--admin-listen", "127.0.0.1:0", "--kubeconfig", w.asUser(t, "powerless", nil), "--nats-url", "nats://127.0.0.1:" + strconv.Itoa(w.port), "--secrets-key-file", key,
	}}
	s.launch(t)
	return s.process.adminAddress(t)
}

func removeStream(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	must.Succeed(t, js.DeleteStream(t.Context(), name))
}

// replaceStream deletes the stream with the name in c and creates a stream from c.
func replaceStream(t *testing.T, js jetstream.JetStream, c jetstream.StreamConfig) {
	t.Helper()
	removeStream(t, js, c.Name)
	if _, err := js.CreateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func logInfo(t *testing.T, js jetstream.JetStream) *jetstream.StreamInfo {
	t.Helper()
	stream, err := js.Stream(t.Context(), "LOG")
	must.Succeed(t, err)
	return stream.CachedInfo()
}

func logSize(t *testing.T, js jetstream.JetStream) float64 {
	t.Helper()
	return float64(logInfo(t, js).State.Bytes)
}

// limitLog sets the size limit of the log's stream, as an operator does.
func limitLog(t *testing.T, js jetstream.JetStream, bytes float64) {
	t.Helper()
	c := logInfo(t, js).Config
	c.MaxBytes = int64(bytes)
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}
