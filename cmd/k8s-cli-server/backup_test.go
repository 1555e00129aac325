package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// execute runs the command line of the server and returns its output.
func execute(args ...string) (string, error) {
	var out strings.Builder
	cmd := command(&config{})
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestBackupAndRestore(t *testing.T) {
	url := testkit.RunNATS(t, t.TempDir(), 0).ClientURL()
	js := testkit.JetStream(t, url)
	if _, err := streams.Create(t.Context(), js, jetstream.StreamConfig{Name: "LOG", Subjects: []string{"log"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "log", []byte("entry")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backup")
	t.Setenv("K8S_CLI_NATS_URL", url) // as in the pods of the server
	t.Setenv("K8S_CLI_NATS_REPLICAS", "3")
	out, err := execute("backup", dir)
	if err != nil || !strings.Contains(out, "LOG                    1 messages") {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	if _, err := execute("restore", dir); err == nil || !strings.Contains(err.Error(), "NATS already has the streams [LOG]") {
		t.Errorf("restore over a stream: error %v", err)
	}
	must.Succeed(t, js.DeleteStream(t.Context(), "LOG"))
	if out, err := execute("restore", dir); err != nil || !strings.Contains(out, "The restore is complete") {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	log, err := js.Stream(t.Context(), "LOG")
	must.Succeed(t, err)
	if m, err := log.GetMsg(t.Context(), 1); err != nil || string(m.Data) != "entry" {
		t.Errorf("the restored entry: %v, %v", m, err)
	}
}

func TestMisusedBackups(t *testing.T) {
	for args, want := range map[string]string{
		"backup":   "name one directory",
		"backup d": "--nats-url is empty; to back up an embedded log, stop the server and copy its --data-dir",
		"restore d e --nats-url nats://127.0.0.1:1":           "name one directory",
		"restore d --nats-url nats://127.0.0.1:1 --nats-ca=x": "", // not a usage error
		"backup d --nats-url nats://127.0.0.1:1 --nats-key=x": "--nats-cert and --nats-key require each other",
		"backup d --workers 3":                                "unknown flag: --workers",
	} {
		_, err := execute(strings.Fields(args)...)
		if err == nil || errors.Is(err, errUsage) != (want != "") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// A script must not take an interrupted backup for a complete one.
func TestInterruptedBackupFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := command(&config{})
	cmd.SetArgs([]string{"backup", filepath.Join(t.TempDir(), "backup"), "--nats-url", testkit.RunNATS(t, t.TempDir(), 0).ClientURL()})
	if err := cmd.ExecuteContext(ctx); exitCode(err) != 1 || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v, exit code %d", err, exitCode(err))
	}
}
