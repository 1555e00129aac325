package features

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what the image's md5sum is compared with
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// secretValue is the secret for which these tests search everywhere.
const secretValue = "s3cret-$(x)-$$-é-4711-value" //nolint:gosec // not one of anybody's

const secretTask = `
name: hush
num_nodes: 2
envs: {OTHER: plain}
secrets: {TOKEN: null, OTHER: hidden}
setup: printf %s "$TOKEN" | md5sum
run: |
  printf %s "$TOKEN" | md5sum
  echo "$OTHER"
`

// holds reports whether text contains the secret, in any encoding that might occur.
func holds(text []byte) bool {
	quoted, _ := json.Marshal(secretValue)
	for _, form := range [][]byte{
		[]byte(secretValue), []byte("4711-value"), bytes.Trim(quoted, `"`),
		[]byte(base64.StdEncoding.EncodeToString([]byte(secretValue))), []byte(base64.StdEncoding.EncodeToString([]byte(`{"OTHER":"hidden","TOKEN":"` + secretValue))[:40]),
	} {
		if bytes.Contains(text, form) {
			return true
		}
	}
	return false
}

// A secret reaches all nodes and both scripts byte for byte. The secret occurs nowhere
// except in the Secret of its task: in no file of the server, no log line, no answer and no
// other object of the cluster.
func TestSecretIsVisibleToItsTaskOnly(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := join(t).serve(t, "--nats-listen", "off", "--data-dir", data, "--log-level", "debug")
	ann := s.as(t, "ann")
	file := filepath.Join(ann.home, "task.yaml")
	must.Write(t, file, secretTask)
	id := ann.submitWithSecret(t, file)
	text := ann.log(t, id, client.LogOptions{})
	ann.await(t, id, task.Completed)
	sum := fmt.Sprintf("%x", md5.Sum([]byte(secretValue))) //nolint:gosec // see above
	for rank := range 2 {
		got := linesOf(text, rank)
		if len(got) != 3 || !strings.HasPrefix(got[0], sum) || !strings.HasPrefix(got[1], sum) || got[2] != "hidden" {
			t.Errorf("node %d says %q", rank, got)
		}
	}
	ann.searchCluster(t, id, "TOKEN")
	searchFiles(t, data, "md5sum")
	for _, path := range []string{"/tasks", "/tasks/" + id, "/tasks/" + id + "/spec", "/tasks/" + id + "/events", "/tasks/" + id + "/logs?follow=false"} {
		if a := s.get(t, "ann", path); a.code != http.StatusOK || holds(a.body) {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
	if holds([]byte(s.process.Said())) {
		t.Error("the server's own log has the secret")
	}
}

// submitWithSecret submits a file with the CLI, with the secret in the environment of the
// CLI, and returns the task's id.
func (u *user) submitWithSecret(t *testing.T, file string) string {
	t.Helper()
	u.cli(t, "auth", "login", u.name).ok(t)
	c := u.prepare(t, "jobs", "submit", "-d", file, "--secret", "TOKEN")
	c.Env = append(c.Env, "TOKEN="+secretValue)
	c.start(t)
	out := c.end(t).ok(t)
	m := regexp.MustCompile(`Task ID: (\S+)`).FindStringSubmatch(out)
	if m == nil || holds([]byte(out)) {
		t.Fatalf("jobs submit printed %q", out)
	}
	return m[1]
}

// searchCluster searches all objects of the namespace for the secret. Only the Secret of the task has
// it, under this name.
func (c *cluster) searchCluster(t *testing.T, id, name string) {
	t.Helper()
	core, all := c.CoreV1(), metav1.ListOptions{}
	jobs, err1 := c.BatchV1().Jobs(c.namespace).List(t.Context(), all)
	pods, err2 := core.Pods(c.namespace).List(t.Context(), all)
	events, err3 := core.Events(c.namespace).List(t.Context(), all)
	services, err4 := core.Services(c.namespace).List(t.Context(), all)
	maps, err5 := core.ConfigMaps(c.namespace).List(t.Context(), all)
	secrets, err6 := core.Secrets(c.namespace).List(t.Context(), all)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if err != nil {
			t.Fatalf("list %d: %v", i, err)
		}
	}
	for name, objects := range map[string]any{"jobs": jobs, "pods": pods, "events": events, "services": services, "config maps": maps} {
		raw := must.Encode(t, objects)
		if holds(raw) {
			t.Errorf("the %s hold the secret", name)
		}
	}
	found := 0
	for _, secret := range secrets.Items {
		if string(secret.Data[name]) == secretValue {
			found++
			if secret.Labels[task.LabelTaskID] != id || len(secret.OwnerReferences) != 1 {
				t.Errorf("the Secret is %+v", secret.ObjectMeta)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d Secrets hold it", found)
	}
}

// searchFiles searches all files of a directory for the secret. The rest of the task, with a known text,
// must be there.
func searchFiles(t *testing.T, dir, text string) {
	t.Helper()
	known := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			known++
		}
		if holds(raw) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || known == 0 {
		t.Errorf("the task is in %d files: %v", known, err)
	}
}

// A server can read the secrets that another server with the same key has stored. A server
// with another key waits, and its readiness says why.
func TestSecretsKeyFile(t *testing.T) {
	t.Parallel()
	c := join(t)
	keys := t.TempDir()
	key := func(name string) string {
		path := filepath.Join(keys, name)
		must.Write(t, path, strings.Repeat(name, 40)+"\n")
		return path
	}
	data := t.TempDir()
	serve := func(flags ...string) *server {
		return c.serve(t, append([]string{"--nats-listen", "off", "--data-dir", data}, flags...)...)
	}
	lift := c.limit(t, "count/jobs.batch")
	s := serve("--secrets-key-file", key("a"))
	id := decode[task.Submitted](t, s.post(t, "ann", "/tasks/submit", `{"run": "test $TOKEN = x", "secrets": {"TOKEN": "x"}}`)).ID
	s.process.terminate(t)
	<-s.process.Ended()
	lift()
	s = serve("--secrets-key-file", key("b"))
	s.as(t, "ann").awaitExplained(t, id, task.Pending, explanation{"SecretsUnreadable", "^this server cannot read the secrets of the task", "^Ask the administrator to restore the secrets key"})
	s.process.terminate(t)
	<-s.process.Ended()
	s = serve("--secrets-key-file", key("a"))
	s.as(t, "ann").await(t, id, task.Completed)
	if _, err := c.CoreV1().Secrets(c.namespace).Get(t.Context(), "k8s-cli-server-key", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a server with a key of its own made one: %v", err)
	}
}

// Servers that start at the same time use one key.
func TestServersShareSecretsKey(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	keys, err := a.CoreV1().Secrets(a.namespace).Get(t.Context(), "k8s-cli-server-key", metav1.GetOptions{})
	if err != nil || len(keys.Data["key"]) != 32 {
		t.Fatalf("%v, %+v", err, keys)
	}
	for _, s := range []*server{a, b} {
		id := s.as(t, "ann").submit(t, "run: test $TOKEN = x\nsecrets: {TOKEN: x}\n")
		s.as(t, "ann").await(t, id, task.Completed)
	}
}
