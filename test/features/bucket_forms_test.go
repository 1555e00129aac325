package features

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A Secret of the administrator gives a user the buckets of this user, and no other ones. No container
// that runs scripts gets the Secret.
func TestBucketSecretsOfTheAdministrator(t *testing.T) {
	t.Parallel()
	s := startForBuckets(t, "--bucket-secrets", "s3://data/{user}/=bucket-users")
	store, address := t.TempDir(), s.freeAddress(t)
	for _, user := range []string{"ann", "bob"} {
		fillBucket(t, filepath.Join(store, "data", user), map[string]int{"of-" + user: 10})
	}
	serveS3(t, store, address)
	_, err := s.CoreV1().Secrets(s.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bucket-users"},
		StringData: map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": secretValue, "AWS_ENDPOINT_URL": "http://" + address},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := func(of string) string {
		return `
envs: {AWS_ENDPOINT_URL: "http://` + address + `"}
file_mounts: {/data: {source: s3://data/` + of + `}}
run: |
  ls /data
  env | grep -e AWS_SECRET -e AWS_ACCESS -e RULE
  echo x >/data/written
`
	}
	ann, bob := s.as(t, "ann"), s.as(t, "bob")
	ann.says(t, ann.submit(t, file("ann")), "of-ann\n")
	if !bucketHolds(filepath.Join(store, "data", "ann", "written"), "x\n") {
		t.Error("the file of ann is not in the bucket")
	}
	id := bob.submit(t, file("ann"))
	m := bob.await(t, id, task.Failed).Metadata
	if m.Reason != task.ReasonNotCopied || !strings.Contains(m.Message, "cannot list s3://data/ann") {
		t.Errorf("bob: %s: %s", m.Reason, m.Message)
	}
}

// The secrets of a task with a mounted bucket occur in no log, object, file or response, also if the
// task fails.
func TestSecretsOfMountedBuckets(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := startForBuckets(t, "--nats-listen", "off", "--data-dir", data, "--log-level", "debug")
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	fillBucket(t, filepath.Join(store, "data"), map[string]int{"file": 10})
	serveS3(t, store, address)
	file := mountTask(address, "s3://data", `
run: |
  echo x >/out/written
  env
  exit 3
`)
	preview := s.post(t, "ann", "/tasks/preview", file, "Content-Type", "application/yaml")
	if preview.code != http.StatusOK || holds(preview.body) || !strings.Contains(string(preview.body), task.SenderContainer) {
		t.Errorf("the preview: %d %s", preview.code, preview.body)
	}
	id := ann.submit(t, file)
	ann.await(t, id, task.Failed)
	if text := ann.log(t, id, client.LogOptions{}); holds([]byte(text)) || strings.Contains(text, keyID) {
		t.Errorf("the log: %s", text)
	}
	if !bucketHolds(filepath.Join(store, "data", "written"), "x\n") {
		t.Error("the file of the failed task is not in the bucket")
	}
	for _, container := range []string{task.BucketsContainer, task.SenderContainer} {
		text, err := s.CoreV1().Pods(s.namespace).GetLogs(s.pods(t, id)[0].Name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
		if err != nil || holds(text) {
			t.Errorf("the log of %s: %s, %v", container, text, err)
		}
	}
	ann.searchCluster(t, id, "AWS_SECRET_ACCESS_KEY")
	searchFiles(t, data, "s3://data")
	for _, path := range []string{"/tasks/" + id, "/tasks/" + id + "/spec", "/tasks/" + id + "/events", "/tasks/" + id + "/logs?follow=false"} {
		if a := s.get(t, "ann", path); a.code != http.StatusOK || holds(a.body) {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
	if holds([]byte(s.process.Said())) {
		t.Error("the server's own log has the secret")
	}
}

// If a pod is deleted without a grace period while the sidecar sends files, the bucket has every file
// that the record of the sidecar lists.
func TestPodThatIsDeletedWhileItSendsToABucket(t *testing.T) {
	t.Parallel()
	s := startForBuckets(t, "--allow-exec")
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	fillBucket(t, filepath.Join(store, "data"), map[string]int{"before": 10})
	serveS3(t, store, address)
	ann.login(t)
	id := ann.submit(t, mountTask(address, "s3://data", `
run: |
  for i in $(seq 100000); do echo $i >/out/$i; done
`))
	recorded := ""
	eventually(t, "files are recorded as sent", func() (string, bool) {
		r := ann.cli(t, "jobs", "exec", id, "--no-stdin", "--", "cat", "/k8s-cli-buckets/control/record-0")
		recorded = r.out
		return r.errOut, strings.Count(recorded, "\n") > 20
	})
	err := s.CoreV1().Pods(s.namespace).Delete(t.Context(), s.awaitPodOf(t, id).Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
	ann.await(t, id, task.Failed)
	stored := 0
	for line := range strings.Lines(recorded) {
		var entry struct {
			Path, Intent string
			Local        struct{ Size int }
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Intent != "" || entry.Path == "before" {
			continue
		}
		stored++
		if raw, err := os.ReadFile(filepath.Join(store, "data", entry.Path)); err != nil || string(raw) != entry.Path+"\n" {
			t.Errorf("%s was recorded as sent: %q, %v", entry.Path, raw, err)
		}
		if _, err := strconv.Atoi(entry.Path); err != nil {
			t.Errorf("the record has %s", entry.Path)
		}
	}
	if stored < 10 {
		t.Errorf("only %d files are recorded as sent:\n%s", stored, recorded)
	}
}
