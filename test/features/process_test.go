package features

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

func kubeconfigFor(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := testkit.WriteKubeconfig(path, "https://"+address); err != nil {
		t.Fatal(err)
	}
	return path
}

// A server that cannot start logs the reason on one line and exits.
func TestStartupErrors(t *testing.T) {
	t.Parallel()
	need(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // after the subtests, which run in parallel
	cluster, nats := testkit.ClosedPort(t), testkit.ClosedPort(t)
	kubeconfig := os.Getenv(envKubeconfig)
	for _, tt := range []struct {
		name  string
		flags []string
		code  int
		says  string
	}{
		{"no cluster", []string{"--kubeconfig", kubeconfigFor(t, cluster), "--nats-listen", "off", "--data-dir", t.TempDir(), "--start-timeout", "2s"}, 1, cluster},
		{"no NATS", []string{"--kubeconfig", kubeconfig, "--nats-url", "nats://" + nats, "--start-timeout", "2s"}, 1, nats},
		{"no kubeconfig", []string{"--kubeconfig", "/nowhere/kubeconfig", "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, "/nowhere/kubeconfig"},
		{"a broken kubeconfig", []string{"--kubeconfig", filepath.Join(file(t, "kubeconfig", "{")), "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, "kubeconfig"},
		{"a port that is taken", []string{"--listen", taken.Addr().String(), "--kubeconfig", kubeconfig, "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, taken.Addr().String()},
		{"a data directory that cannot be", []string{"--kubeconfig", kubeconfig, "--nats-listen", "off", "--data-dir", filepath.Join(file(t, "plain", ""), "below")}, 1, "plain"},
		{"an unknown flag", []string{"--nats-ur", "x"}, 2, "--nats-ur"},
		{"an argument", []string{"serve"}, 2, "serve"},
		{"a number in words", []string{"--workers", "many"}, 2, "--workers"},
		{"no workers", []string{"--workers", "0"}, 2, "--workers"},
		{"an address without a port", []string{"--listen", "localhost"}, 2, "--listen"},
		{"a durability that is none", []string{"--durability", "maybe"}, 2, "--durability"},
		{"a log level that is none", []string{"--log-level", "loud"}, 2, "--log-level"},
		{"a data directory beside NATS", []string{"--nats-url", "nats://" + nats, "--data-dir", "/tmp"}, 2, "--data-dir"},
		{"credentials without NATS", []string{"--nats-creds", "/tmp/creds"}, 2, "--nats-creds"},
		{"a duration without a unit", []string{"--start-timeout", "2"}, 2, "--start-timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flags := tt.flags
			if tt.code == 1 && tt.name != "a port that is taken" {
				flags = append([]string{"--listen", "127.0.0.1:0"}, flags...)
			}
			begin := time.Now()
			p := launch(t, testkit.Command{Args: flags})
			code := p.exit(t)
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s to end", took)
			}
			lines := strings.Split(strings.TrimRight(p.Said(), "\n"), "\n")
			last := lines[len(lines)-1]
			if code != tt.code || !strings.HasPrefix(last, "k8s-cli-server: ") || !strings.Contains(last, tt.says) {
				t.Errorf("exit code %d, last line %q; want %d and %q in the line", code, last, tt.code, tt.says)
			}
			if tt.code == 2 && len(lines) != 1 {
				t.Errorf("it said more than one line: %q", lines)
			}
			for _, line := range lines[:len(lines)-1] { // the lines about waiting
				if !strings.HasPrefix(line, "time=") {
					t.Errorf("a line that is no line of the log: %q", line)
				}
			}
		})
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.Write(t, path, text)
	return path
}

func TestHelpShowsTheFlagsWithTheirDefaults(t *testing.T) {
	t.Parallel()
	p := launch(t, testkit.Command{Args: []string{"--help"}})
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	help := p.Said()
	for _, flag := range []string{
		"--listen", "--kubeconfig", "--namespace", "--start-timeout", "--nats-url", "--nats-creds", "--nats-replicas", "--data-dir",
		"--nats-listen", "--durability", "--workers", "--default-image", "--max-nodes", "--keep-jobs", "--log-format", "--log-level",
		"0.0.0.0:8000", "127.0.0.1:4222", "python:3.13-slim", "30s", "256", "K8S_CLI_",
	} {
		if !strings.Contains(help, flag) {
			t.Errorf("the help lacks %s:\n%s", flag, help)
		}
	}
}

// Only one process at a time can use a data directory.
func TestSecondServerOnADataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	second := launch(t, testkit.Command{Args: s.arguments()})
	if code := second.exit(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	dir := s.flags[len(s.flags)-1]
	if said := second.Said(); !strings.Contains(said, dir) || strings.Count(said, "\n") != 1 {
		t.Errorf("it said %q, want one line that names %s", said, dir)
	}
	s.as(t, "ann").submit(t, idle) // the first server still works
}

// Settings come from flags, then from environment variables, and for the port then from the
// variable of the specification.
func TestSettingsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	c := join(t)
	_, port, err := net.SplitHostPort(testkit.ClosedPort(t))
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{
		"K8S_CLI_NAMESPACE=" + c.namespace, "K8S_CLI_NATS_LISTEN=off", "K8S_CLI_MAX_NODES=2", "K8S_CLI_MAX_MEMORY=4Gi", "K8S_CLI_DURABILITY=os",
		"KUBECONFIG=" + os.Getenv(envKubeconfig), "K8S_CLI_API_PORT=" + port,
	}
	p := launch(t, testkit.Command{Env: settings, Args: []string{"--data-dir", t.TempDir(), "--max-nodes", "3"}})
	if got := p.address(t); !strings.HasSuffix(got, ":"+port) {
		t.Errorf("it listens on %s, want port %s", got, port)
	}
	ann := (&server{cluster: c, url: "http://127.0.0.1:" + port, process: p}).as(t, "ann")
	ann.submit(t, "num_nodes: 3\n"+idle)
	_, err = ann.Submit(t.Context(), task.Spec{Run: "true", NumNodes: 4})
	if err == nil || !strings.Contains(err.Error(), "num_nodes: 4 is more than the 3") {
		t.Errorf("a fourth node: %v", err)
	}
	_, err = ann.Submit(t.Context(), task.Spec{Run: "true", Resources: task.Resources{Memory: "4.5"}})
	if err == nil || !strings.Contains(err.Error(), "resources.memory: 4.5 is more than the 4Gi per node") {
		t.Errorf("too much memory: %v", err)
	}
	p.terminate(t)

	p = launch(t, testkit.Command{Env: append(settings, "K8S_CLI_LISTEN=127.0.0.1:0"), Args: []string{"--data-dir", t.TempDir()}})
	if got := p.address(t); strings.HasSuffix(got, ":"+port) {
		t.Errorf("with K8S_CLI_LISTEN it listens on %s", got)
	}
}

// SIGTERM shuts a server down gracefully, although a client follows a log.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	s := start(t, "--trusted-proxies", "127.0.0.1")
	ann := s.as(t, "ann")
	id := ann.submit(t, yaml("run", endless))
	log := ann.follow(t, id, client.LogOptions{})
	log.awaitText(t, "begun\n")
	begin := time.Now()
	s.process.terminate(t)
	if code := s.process.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if regexp.MustCompile(`level=(ERROR|WARN)`).MatchString(s.process.Said()) {
		t.Errorf("it complained:\n%s", s.process.Said())
	}
	<-log.ended
	if jobs := s.jobs(t, id); len(jobs) != 1 {
		t.Errorf("the end of the server left %d Jobs of a task that runs", len(jobs))
	}
	again := s.again(t).as(t, "ann")
	if got := again.task(t, id); got.Phase != task.Running {
		t.Errorf("after a restart the task is %s", sketch(got))
	}
	again.stop(t, id)
	again.awaitNothing(t, id)
}
