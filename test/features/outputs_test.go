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
	"k8s-cli/test/testkit/must"
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
	must.Succeed(t, err)
	return sums
}

// Outputs outlive the Jobs of their task and the server, byte for byte.
func TestOutputs(t *testing.T) {
	t.Parallel()
	c := join(t)
	files := c.freeAddress(t)
	s := c.serve(t, "--nats-listen", "off", "--data-dir", t.TempDir(), "--files-listen", files, "--advertise-url", "http://"+files)
	ann := s.as(t, "ann")
	id := ann.submit(t, `
num_nodes: 2
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
	for rank := range 2 {
		lines := linesOf(ann.log(t, id, client.LogOptions{}), rank)
		if len(lines) != 1 || len(lines[0]) != 64 {
			t.Fatalf("node %d says %q", rank, lines)
		}
		sums[rank] = lines[0]
	}
	for _, job := range ann.jobs(t, id) {
		must.Succeed(t, ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	}
	ann.awaitNothing(t, id)
	s.process.Kill()
	again := s.again(t)
	ann = again.as(t, "ann")

	for rank, o := range ann.outputsOf(t, id, 2) {
		if o.Node != rank || o.Size < int64(1000000*(rank+1)) || o.Error != "" || len(o.Missing) != 1 || o.Missing[0] != "/tmp/none" {
			t.Errorf("outputs of node %d: %+v", rank, o)
		}
		a := again.get(t, "ann", fmt.Sprintf("/tasks/%s/outputs/%d", id, rank))
		if sum := sha256.Sum256(a.body); a.code != http.StatusOK || hex.EncodeToString(sum[:]) != o.Sum || a.header.Get("ETag") != `"`+o.Sum+`"` {
			t.Errorf("node %d: %d, %d bytes", rank, a.code, len(a.body))
		}
	}
	said := ann.cli(t, "jobs", "download", id, "all")
	if said.code != 0 || strings.Count(said.errOut, "leads-out was left out") != 2 {
		t.Errorf("exit code %d:\n%s", said.code, said.errOut)
	}
	got := ann.sumsIn(t, "all")
	for rank := range 2 {
		dir := fmt.Sprintf("node-%d/", rank)
		if got[dir+"out/sub/data"] != sums[rank] {
			t.Errorf("node %d: %v, want %s", rank, got, sums[rank])
		}
	}
	if len(got) != 4 {
		t.Errorf("%d files: %v", len(got), got)
	}
	status := ann.cli(t, "jobs", "status", id).ok(t)
	if !strings.Contains(status, "\nOutputs\nNode ") {
		t.Errorf("jobs status printed %s", status)
	}
	again.get(t, "bob", "/tasks/"+id+"/outputs/0").wants(t, http.StatusNotFound, "Task "+id+" not found")
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
