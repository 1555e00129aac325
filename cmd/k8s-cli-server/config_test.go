package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"k8s-cli/pkg/api/exec"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/test/testkit/must"
)

var defaultPolicy = policyConfig{tasks: policy.Tasks{GracePeriod: 10 * time.Minute, Transfer: bucket.Transfer{Max: 100 << 30}}, literalClaims: "all"}

// settings is the cmp option that compares two configs.
var settings = cmp.AllowUnexported(config{}, admissionConfig{}, identityConfig{}, userConfig{}, policyConfig{}, slotConfig{}, execConfig{})

var defaultSlots = slotConfig{slots.Limit{Total: 128, PerUser: 64}, slots.Limit{Total: 64, PerUser: 16}, slots.Limit{Total: 2000, PerUser: 500}, slots.Limit{Total: 4000, PerUser: 1000}, slots.Limit{Total: 256, PerUser: 64}}

var defaultExec = execConfig{limits: exec.Limits{Idle: 30 * time.Minute, Total: 12 * time.Hour}}

// noIdentity is the identityConfig of an empty command line.
var noIdentity = identityConfig{by: "header", userClaim: "sub", groupClaim: "groups"}

// parse returns the config for a command line and an environment.
func parse(env map[string]string, args ...string) (config, error) {
	var c config
	f := pflag.NewFlagSet("k8s-cli-server", pflag.ContinueOnError)
	c.define(f)
	if err := f.Parse(args); err != nil {
		return c, err
	}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	if err := c.fromEnvironment(f, lookup); err != nil {
		return c, err
	}
	return c, c.check(f)
}

func TestDefaults(t *testing.T) {
	c, err := parse(nil)
	must.Succeed(t, err)
	want := config{
		listen: "0.0.0.0:8000", namespace: "default", startTimeout: 30 * time.Second, leaseDuration: 3 * time.Second, natsReplicas: 1,
		dataDir: defaultDataDir(), natsListen: "127.0.0.1:4222", durability: "always",
		workers: 64, defaultImage: "python:3.13-slim", maxNodes: 256, maxUpload: 512 << 20, keepUploads: 24 * time.Hour, maxOutputs: 256 << 20, maxOutputsTotal: 1 << 30, keepJobs: time.Hour, history: 168 * time.Hour, historyTasks: 200000, keepLogs: 1 << 20, keepLogsTotal: 1 << 30, admission: admissionConfig{20000, 0, 1000}, identity: noIdentity, policy: defaultPolicy, perUser: userConfig{uploads: 2 << 30, outputs: 512 << 20}, atOnce: defaultSlots, exec: defaultExec, ui: "on", logFormat: "text", logLevel: "info",
	}
	if diff := cmp.Diff(want, c, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestFlagsBeatVariables(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want string // values of --listen, --namespace and --workers
	}{
		{"flags alone", nil, []string{"--listen=:1", "--namespace", "a", "--workers=2"}, ":1 a 2"},
		{"variables alone", map[string]string{"K8S_CLI_LISTEN": ":1", "K8S_CLI_NAMESPACE": "a", "K8S_CLI_WORKERS": "2"}, nil, ":1 a 2"},
		{"both", map[string]string{"K8S_CLI_LISTEN": ":9", "K8S_CLI_NAMESPACE": "z", "K8S_CLI_WORKERS": "2"}, []string{"--listen=:1", "--namespace=a"}, ":1 a 2"},
		{"a flag that says the default", map[string]string{"K8S_CLI_NAMESPACE": "z"}, []string{"--namespace=default"}, "0.0.0.0:8000 default 64"},
		{"the port alone", map[string]string{"K8S_CLI_API_PORT": "9000"}, nil, "0.0.0.0:9000 default 64"},
		{"the port beside an address", map[string]string{"K8S_CLI_API_PORT": "9000", "K8S_CLI_LISTEN": "127.0.0.1:1"}, nil, "127.0.0.1:1 default 64"},
		{"the port beside a flag", map[string]string{"K8S_CLI_API_PORT": "9000"}, []string{"--listen=127.0.0.1:1"}, "127.0.0.1:1 default 64"},
		{"variables of others", map[string]string{"LISTEN": ":9", "K8S_CLI_HELP": "true", "K8S_CLI_API_URL": "x"}, nil, "0.0.0.0:8000 default 64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parse(tt.env, tt.args...)
			if got := fmt.Sprintf("%s %s %d", c.listen, c.namespace, c.workers); err != nil || got != tt.want {
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestEveryFlagIsAVariable(t *testing.T) {
	values := map[string]string{
		"K8S_CLI_KUBECONFIG": "/k", "K8S_CLI_START_TIMEOUT": "5s", "K8S_CLI_NATS_URL": "nats://n", "K8S_CLI_NATS_CREDS": "/c", "K8S_CLI_NATS_CA": "/ca", "K8S_CLI_NATS_CERT": "/cert", "K8S_CLI_NATS_KEY": "/key",
		"K8S_CLI_NATS_REPLICAS": "3", "K8S_CLI_DEFAULT_IMAGE": "i", "K8S_CLI_MAX_NODES": "7", "K8S_CLI_KEEP_JOBS": "0s", "K8S_CLI_ADOPT_LEGACY": "true", "K8S_CLI_HISTORY": "1h", "K8S_CLI_HISTORY_TASKS": "9",
		"K8S_CLI_KEEP_LOGS": "512Ki", "K8S_CLI_KEEP_LOGS_TOTAL": "2G",
		"K8S_CLI_ADVERTISE_URL": "https://h/k", "K8S_CLI_MAX_UPLOAD": "1Mi", "K8S_CLI_KEEP_UPLOADS": "2h",
		"K8S_CLI_MAX_ACTIVE_JOBS": "30", "K8S_CLI_MAX_ACTIVE_JOBS_PER_USER": "20", "K8S_CLI_MAX_UNSCHEDULABLE_PODS": "10",
		"K8S_CLI_LEASE_DURATION": "15s", "K8S_CLI_LOG_FORMAT": "json", "K8S_CLI_LOG_LEVEL": "debug", "K8S_CLI_NAMESPACE": "n", "K8S_CLI_WORKERS": "2", "K8S_CLI_LISTEN": ":1",
	}
	c, err := parse(values)
	must.Succeed(t, err)
	embedded, err := parse(map[string]string{"K8S_CLI_DATA_DIR": "/d", "K8S_CLI_NATS_LISTEN": "off", "K8S_CLI_DURABILITY": "os"})
	must.Succeed(t, err)
	c.dataDir, c.natsListen, c.durability = embedded.dataDir, embedded.natsListen, embedded.durability
	want := config{
		listen: ":1", kubeconfig: "/k", namespace: "n", startTimeout: 5 * time.Second, leaseDuration: 15 * time.Second, nats: natsconn.Remote{URL: "nats://n", Creds: "/c", CA: "/ca", Cert: "/cert", Key: "/key"}, natsReplicas: 3,
		dataDir: "/d", natsListen: "off", durability: "os", workers: 2, defaultImage: "i", maxNodes: 7, advertiseURL: "https://h/k", maxUpload: 1 << 20, keepUploads: 2 * time.Hour, maxOutputs: 256 << 20, maxOutputsTotal: 1 << 30, adoptLegacy: true, history: time.Hour, historyTasks: 9, keepLogs: 512 << 10, keepLogsTotal: 2e9, admission: admissionConfig{30, 20, 10}, identity: noIdentity, policy: defaultPolicy, perUser: userConfig{uploads: 2 << 30, outputs: 512 << 20}, atOnce: defaultSlots, exec: defaultExec, ui: "on", logFormat: "json", logLevel: "debug",
	}
	if diff := cmp.Diff(want, c, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		env  string
		args string
		want string
	}{
		{"", "--listen=8000", `--listen: "8000" is not host:port`},
		{"", "--listen=:8000,", `--listen: "" is not host:port`},
		{"", "--listen=:http2", `--listen: "http2" is not a port`},
		{"", "--listen=:65536", `--listen: "65536" is not a port`},
		{"", "--listen=:-1", `--listen: "-1" is not a port`},
		{"", "--nats-listen=4222", `--nats-listen: "4222" is not host:port`},
		{"K8S_CLI_API_PORT=eighty", "", `"eighty" is not a port`},
		{"K8S_CLI_API_PORT=", "", `"" is not a port`},
		{"K8S_CLI_WORKERS=many", "", "K8S_CLI_WORKERS"},
		{"K8S_CLI_START_TIMEOUT=30", "", "K8S_CLI_START_TIMEOUT"},
		{"K8S_CLI_KEEP_LOGS=many", "", `"many" is not a size`},
		{"K8S_CLI_KEEP_LOGS=-1", "", `"-1" is not a size`},
		{"", "--keep-logs=1Gi", "--keep-logs-total: 1Gi must be at least 16Mi and at least four times --keep-logs"},
		{"", "--keep-logs-total=1Mi", "--keep-logs-total: 1Mi must be at least 16Mi"},
		{"", "--workers=0", "--workers: 0 must be at least 1"},
		{"", "--max-nodes=0", "--max-nodes: 0 must be between 1 and"},
		{"", "--max-active-jobs=-1", "--max-active-jobs: -1 must be at least 0"},
		{"", "--max-active-jobs-per-user=-2", "--max-active-jobs-per-user: -2 must be at least 0"},
		{"", "--max-unschedulable-pods=-3", "--max-unschedulable-pods: -3 must be at least 0"},
		{"", "--max-active-jobs=7 --max-active-jobs-per-user=8", "--max-active-jobs-per-user: 8 is more than --max-active-jobs, which is 7"},
		{"", "--max-gpus=-1", "--max-cpus and --max-gpus: 0 and -1 must both be at least 0"},
		{"", "--nats-url=nats://n --nats-replicas=6", "--nats-replicas: 6 must be between 1 and 5"},
		{"", "--start-timeout=0s", "--start-timeout: 0s must be greater than 0"},
		{"", "--lease-duration=999ms", "--lease-duration: 999ms must be between 1s and 5m0s"},
		{"", "--lease-duration=6m", "--lease-duration: 6m0s must be between 1s and 5m0s"},
		{"", "--advertise-url=10.0.0.1:8000", `--advertise-url: "10.0.0.1:8000" is not http://HOST[:PORT]`},
		{"", "--advertise-url=http://", `--advertise-url: "http://" is not http://HOST[:PORT]`},
		{"", "--files-listen=:8001", "--files-listen requires --advertise-url"},
		{"", "--files-listen=8001 --advertise-url=http://h:8001", `--files-listen: "8001" is not host:port`},
		{"", "--max-upload=0", "--max-upload: 0 must be greater than 0"},
		{"", "--keep-uploads=0s", "--keep-uploads: 0s must be at least 1s"},
		{"", "--keep-jobs=-1s", "--keep-jobs: -1s must not be negative"},
		{"", "--default-image=", `--default-image: "" is not the name of a container image`},
		{"", "--default-image=Not:an:image", `--default-image: "Not:an:image" is not the name of a container image`},
		{"", "--namespace=Team_A", `--namespace: "Team_A" is not the name of a namespace`},
		{"", "--namespace=", `--namespace: "" is not the name of a namespace`},
		{"", "--secrets-key-namespace=Team_A", `--secrets-key-namespace: "Team_A" is not the name of a namespace`},
		{"", "--secrets-key-namespace=a --secrets-key-file=/k", "--secrets-key-namespace cannot be combined with --secrets-key-file"},
		{"", "--durability=never", `--durability: "never" is not one of always, os`},
		{"", "--log-format=xml", `--log-format: "xml" is not one of text, json`},
		{"", "--log-level=loud", `--log-level: "loud" is not one of debug, info, warn, error`},
		{"", "--nats-url=nats://n --data-dir=/d", "--data-dir configures the embedded NATS and cannot be combined with --nats-url"},
		{"K8S_CLI_DURABILITY=os", "--nats-url=nats://n", "--durability configures the embedded NATS"},
		{"", "--nats-url=nats://n --nats-listen=off", "--nats-listen configures the embedded NATS"},
		{"", "--nats-creds=/c", "--nats-creds requires --nats-url"},
		{"K8S_CLI_NATS_REPLICAS=3", "", "--nats-replicas requires --nats-url"},
	} {
		env := map[string]string{}
		if name, value, ok := strings.Cut(tt.env, "="); ok {
			env[name] = value
		}
		if _, err := parse(env, strings.Fields(tt.args)...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want a usage error with %q", tt.env, tt.args, err, tt.want)
		}
	}
}

func TestACommandLineThatIsWrong(t *testing.T) {
	for _, args := range []string{"--nope", "--workers=many", "--workers", "--listen=8000", "serve", "--workers 2 3"} {
		cmd := command(&config{})
		cmd.SetArgs(strings.Fields(args))
		err := cmd.ExecuteContext(t.Context())
		if !errors.Is(err, errUsage) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", args, err)
		}
		if code := exitCode(err); code != 2 {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

func TestHelpShowsEveryFlagWithItsDefault(t *testing.T) {
	cmd := command(&config{})
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	must.Succeed(t, cmd.ExecuteContext(t.Context()))
	for _, want := range []string{"--listen", "0.0.0.0:8000", "--nats-url", "K8S_CLI_NATS_URL", "python:3.13-slim", "--keep-jobs", "1h0m0s", "always"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help says nothing of %s:\n%s", want, out.String())
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"no error", nil, 0},
		{"a signal", fmt.Errorf("serve: %w", context.Canceled), 0},
		{"a wrong command line", usagef("--workers: %d", 0), 2},
		{"a fault", errors.New("the port is taken"), 1},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTheLevelOfTheLogger(t *testing.T) {
	for level, want := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
		l := (&config{logLevel: level}).logger()
		if !l.Enabled(t.Context(), want) || l.Enabled(t.Context(), want-1) {
			t.Errorf("--log-level %s logs at another", level)
		}
	}
}
