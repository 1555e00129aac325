package features

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// kubeconfigFor returns a kubeconfig for the API server at a URL.
func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, testkit.WriteKubeconfig(path, url))
	return path
}

// A server that cannot start logs the reason on one line and exits.
func TestStartupErrors(t *testing.T) {
	t.Parallel()
	need(t)
	taken := must.Listen(t)
	t.Cleanup(func() { _ = taken.Close() }) // after the subtests, which run in parallel
	cluster, nats := testkit.ClosedPort(t), testkit.ClosedPort(t)
	kubeconfig := os.Getenv(envKubeconfig)
	for _, tt := range []struct {
		name  string
		flags []string
		code  int
		says  string
	}{
		{"no cluster", []string{"--kubeconfig", kubeconfigFor(t, "https://"+cluster), "--nats-listen", "off", "--data-dir", t.TempDir(), "--start-timeout", "2s"}, 1, cluster},
		{"no NATS", []string{"--kubeconfig", kubeconfig, "--nats-url", "nats://" + nats, "--start-timeout", "2s"}, 1, nats},
		{"no kubeconfig", []string{"--kubeconfig", "/nowhere/kubeconfig", "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, "/nowhere/kubeconfig"},
		{"a broken kubeconfig", []string{"--kubeconfig", filepath.Join(file(t, "kubeconfig", "{")), "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, "kubeconfig"},
		{"a port that is taken", []string{"--listen", taken.Addr().String(), "--kubeconfig", kubeconfig, "--nats-listen", "off", "--data-dir", t.TempDir()}, 1, taken.Addr().String()},
		{"a data directory that cannot be", []string{"--kubeconfig", kubeconfig, "--nats-listen", "off", "--data-dir", filepath.Join(file(t, "plain", ""), "below")}, 1, "plain"},
		{"a wrong command line", []string{"--workers", "0"}, 2, "--workers"},
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
	must.Write(t, path, text)
	return path
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
	again.wantPhase(t, id, task.Running, "after a restart")
	again.stop(t, id)
	again.awaitNothing(t, id)
}
