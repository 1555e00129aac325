package features

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// After the loss of all NATS nodes, a backup restores the tasks, their history, logs, outputs,
// submissions and files, and the usage. Running Jobs continue.
func TestBackupRestoresEverything(t *testing.T) {
	t.Parallel()
	c := join(t)
	address := c.freeAddress(t)
	serve := func(nats string) *user {
		return c.serve(t, "--nats-url", nats, "--nats-replicas", "3", "--keep-jobs", "1s", "--files-listen", address, "--advertise-url", "http://"+address).as(t, "ann")
	}
	nats, lose := testkit.RunNATSCluster(t)
	ann := serve(nats)
	ann.login(t)
	ann.put(t, map[string]string{"task.yaml": "name: ended\nworkdir: dir\noutputs: [/tmp/out]\nrun: cat input; echo result >/tmp/out\n", "dir/input": "of the user\n"})
	ended, failed := ann.submitFile(t, "task.yaml"), ann.submit(t, "run: |\n  echo no luck; exit 3\n")
	running, waits := ann.submit(t, yaml("run", endless)), ann.submit(t, idle)
	ann.await(t, ended, task.Completed)
	ann.await(t, failed, task.Failed)
	ann.outputsOf(t, ended, 1)
	for _, id := range []string{ended, failed} {
		ann.awaitNothing(t, id) // the logs are in NATS alone
	}
	ann.await(t, running, task.Running)
	job := ann.jobs(t, running)[0].UID

	read := func(u *user) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, path := range []string{
			"/usage", "/tasks/" + ended, "/tasks/" + failed, "/tasks/" + waits + "/spec", "/tasks/" + ended + "/spec",
			"/tasks/" + ended + "/events", "/tasks/" + failed + "/events", "/tasks/" + ended + "/logs", "/tasks/" + failed + "/logs", "/tasks/" + ended + "/outputs/0",
		} {
			a := u.get(t, u.name, path)
			if a.code != http.StatusOK {
				t.Errorf("GET %s: %d %s", path, a.code, a.body)
			}
			all[path] = string(a.body)
		}
		return all
	}
	before, ids := read(ann), ann.tasks(t)
	dir := filepath.Join(t.TempDir(), "backup")
	manage(t, "backup", "--nats-url", nats, dir)
	ann.process.terminate(t)
	lose()

	nats, _ = testkit.RunNATSCluster(t)
	manage(t, "restore", "--nats-url", nats, dir)
	ann = serve(nats)
	if diff := cmp.Diff(ids, ann.tasks(t)); diff != "" {
		t.Errorf("tasks (-before +restored):\n%s", diff)
	}
	if diff := cmp.Diff(before, read(ann)); diff != "" {
		t.Errorf("responses (-before +restored):\n%s", diff)
	}
	ann.await(t, running, task.Running)
	if got := ann.jobs(t, running)[0].UID; got != job {
		t.Errorf("the running task has another Job")
	}
	if got, want := ann.log(t, ann.rerun(t, ended), client.LogOptions{}), "of the user\n"; got != want { // with the uploaded file
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// rerun submits a task again with the CLI and returns the id of the new task.
func (u *user) rerun(t *testing.T, id string) string {
	t.Helper()
	u.login(t)
	u.cli(t, "jobs", "rerun", "-d", id).ok(t)
	return u.tasks(t)[0]
}

// manage runs a command of k8s-cli-server.
func manage(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), testkit.Program(t, "k8s-cli-server"), args...).CombinedOutput(); err != nil {
		t.Fatalf("k8s-cli-server %v: %v\n%s", args, err, out)
	}
}
