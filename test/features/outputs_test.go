package features

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// outputsOf returns the outputs in the status of a task, once the task has those of so many nodes.
func (u *user) outputsOf(t *testing.T, id string, nodes int) []outputs.Output {
	t.Helper()
	return u.awaitWhere(t, id, fmt.Sprintf("outputs of %d nodes", nodes), func(s task.Status) bool { return len(s.Metadata.Outputs) == nodes }).Metadata.Outputs
}

// sumsIn returns the SHA-256 of each file below a directory of the user's home, by path.
func (u *user) sumsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	root := filepath.Join(u.home, dir)
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		sums[strings.TrimPrefix(path, root+"/")] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// Outputs outlive the Jobs of their task and the server, byte for byte.
func TestOutputs(t *testing.T) {
	t.Parallel()
	c := join(t)
	files := c.freeAddress(t)
	s := c.serve(t, "--nats-listen", "off", "--data-dir", t.TempDir(), "--files-listen", files, "--advertise-url", "http://"+files, "--max-outputs", "4Mi", "--max-user-outputs", "6Mi")
	ann := s.as(t, "ann")
	id := ann.submit(t, `
num_nodes: 3
workdir: /tmp
outputs: [out, ~/of-$NAME, /tmp/none]
envs: {NAME: home}
run: |
  env | grep K8S_CLI && exit 9
  mkdir -p out/sub && head -c $((1000000 * (SKYPILOT_NODE_RANK + 1))) /dev/urandom >out/sub/data
  echo $SKYPILOT_NODE_RANK >~/of-home
  ln -s sub/data out/link; ln -s /etc/passwd out/leads-out
  sha256sum out/sub/data | cut -d' ' -f1
`)
	ann.await(t, id, task.Completed)
	sums := map[int]string{}
	for rank := range 3 {
		lines := linesOf(ann.log(t, id, client.LogOptions{}), rank)
		if len(lines) != 1 || len(lines[0]) != 64 {
			t.Fatalf("node %d says %q", rank, lines)
		}
		sums[rank] = lines[0]
	}
	large := ann.submit(t, "outputs: [/tmp/big]\nrun: head -c 5000000 /dev/urandom >/tmp/big\n")
	fails := ann.submit(t, "outputs: [/tmp/why]\nrun: echo bad luck >/tmp/why; exit 3\n")
	ann.await(t, large, task.Completed)
	ann.await(t, fails, task.Failed)
	for _, job := range ann.jobs(t, id) {
		if err := ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Fatal(err)
		}
	}
	ann.awaitNothing(t, id)
	s.process.Kill()
	again := s.again(t)
	ann = again.as(t, "ann")
	bob := again.as(t, "bob")

	for rank, o := range ann.outputsOf(t, id, 3) {
		if o.Node != rank || o.Size < int64(1000000*(rank+1)) || o.Error != "" || len(o.Missing) != 1 || o.Missing[0] != "/tmp/none" {
			t.Errorf("outputs of node %d: %+v", rank, o)
		}
		a := again.get(t, "ann", fmt.Sprintf("/tasks/%s/outputs/%d", id, rank))
		if sum := sha256.Sum256(a.body); a.code != http.StatusOK || hex.EncodeToString(sum[:]) != o.Sum || a.header.Get("ETag") != `"`+o.Sum+`"` {
			t.Errorf("node %d: %d, %d bytes", rank, a.code, len(a.body))
		}
	}
	said := ann.cli(t, "jobs", "download", id, "all")
	if said.code != 0 || strings.Count(said.errOut, "leads-out was left out") != 3 {
		t.Errorf("exit code %d:\n%s", said.code, said.errOut)
	}
	got := ann.sumsIn(t, "all")
	for rank := range 3 {
		dir := fmt.Sprintf("node-%d/", rank)
		if got[dir+"out/sub/data"] != sums[rank] {
			t.Errorf("node %d: %v, want %s", rank, got, sums[rank])
		}
	}
	if len(got) != 6 {
		t.Errorf("%d files: %v", len(got), got)
	}
	if text := ann.cli(t, "jobs", "download", id, "all").fails(t, 1); !strings.Contains(text, "--force") {
		t.Errorf("the second download: %s", text)
	}
	ann.cli(t, "jobs", "download", id, "all", "--force").ok(t)
	if text := bob.cli(t, "jobs", "download", id).fails(t, 102); !strings.Contains(text, "not found") {
		t.Errorf("the download of another user: %s", text)
	}
	again.get(t, "bob", "/tasks/"+id+"/outputs/0").wants(t, http.StatusNotFound, "Task "+id+" not found")

	if o := ann.outputsOf(t, large, 1)[0]; o.Size != 0 || !strings.Contains(o.Error, "--max-outputs") {
		t.Errorf("outputs that are too large: %+v", o)
	}
	if text := ann.cli(t, "jobs", "download", large).fails(t, 1); !strings.Contains(text, "--max-outputs") {
		t.Errorf("the download of outputs that are too large: %s", text)
	}
	ann.cli(t, "jobs", "download", fails, "failed").ok(t)
	if got := ann.sumsIn(t, "failed"); len(got) != 1 || got["tmp/why"] == "" {
		t.Errorf("the outputs of a failed task: %v", got)
	}
	if status := ann.cli(t, "jobs", "status", fails).ok(t); !strings.Contains(status, "\nOutputs\nNode ") {
		t.Errorf("jobs status printed %s", status)
	}
	quota := ann.submit(t, "outputs: [/tmp/more]\nrun: head -c 3000000 /dev/urandom >/tmp/more\n")
	ann.await(t, quota, task.Completed)
	if o := ann.outputsOf(t, quota, 1)[0]; o.Size != 0 || !strings.Contains(o.Error, "--max-user-outputs") {
		t.Errorf("outputs above the quota: %+v", o)
	}
	ofBob := bob.submit(t, "outputs: [/tmp/more]\nrun: head -c 3000000 /dev/urandom >/tmp/more\n")
	bob.await(t, ofBob, task.Completed)
	if o := bob.outputsOf(t, ofBob, 1)[0]; o.Size < 3000000 || o.Error != "" {
		t.Errorf("the outputs of another user: %+v", o)
	}
}

// A stopped task sends its outputs in the grace period of its pods.
func TestOutputsOfAStoppedTask(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	id := ann.submit(t, "outputs: [/tmp/state]\nrun: |\n  trap 'echo saved >/tmp/state; exit 0' TERM\n  echo begun\n  sleep 3600 & wait\n")
	ann.follow(t, id, client.LogOptions{}).awaitText(t, "begun\n")
	ann.stop(t, id)
	ann.outputsOf(t, id, 1)
	ann.cli(t, "jobs", "download", id, "state").ok(t)
	if got, err := os.ReadFile(filepath.Join(ann.home, "state", "tmp", "state")); err != nil || string(got) != "saved\n" {
		t.Errorf("the outputs are %q, %v", got, err)
	}
}

// The token of a node cannot store the outputs of another node or task, and no token is in a pod.
func TestTokensOfOutputs(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	wait := "num_nodes: 2\noutputs: [/tmp/x]\nrun: |\n  echo begun\n  sleep 3600\n"
	id, other := ann.submit(t, wait), ann.submit(t, wait)
	for _, task := range []string{id, other} {
		ann.follow(t, task, client.LogOptions{}).awaitText(t, "begun\n")
	}
	secrets, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), of(id))
	if err != nil || len(secrets.Items) != 1 || len(secrets.Items[0].Data) != 2 {
		t.Fatalf("the Secret of the task: %v, %+v", err, secrets)
	}
	token := string(secrets.Items[0].Data["outputs.token-0"])
	for _, pod := range s.pods(t, id) {
		if strings.Contains(fmt.Sprintf("%+v", pod), token) {
			t.Errorf("pod %s has the token in it", pod.Name)
		}
	}
	put := func(path string) answer {
		return s.send(t, http.MethodPut, "ann", path, []byte("x"), "Authorization", "Bearer "+token)
	}
	put("/tasks/"+id+"/outputs/1").wants(t, http.StatusForbidden, "Authorization: the token is not the token of this node")
	put("/tasks/"+other+"/outputs/0").wants(t, http.StatusForbidden, "Authorization: the token is not the token of this node")
	s.send(t, http.MethodGet, "ann", "/tasks/"+id+"/files/"+strings.Repeat("0", 64), nil, "Authorization", "Bearer "+token).wants(t, http.StatusForbidden, "Authorization: the token is not the token of this task")
	if a := put("/tasks/" + id + "/outputs/0"); a.code != http.StatusOK {
		t.Errorf("the outputs of the node: %d %s", a.code, a.body)
	}
	if text := ann.cli(t, "jobs", "download", id, "x-dir", "--node", "0").fails(t, 1); !strings.Contains(text, "archive") {
		t.Errorf("the download of outputs that are no archive: %s", text)
	}
}
