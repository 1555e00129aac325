package deploy

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// small is the resources of the tasks of these tests: the machine has few.
var small = task.Resources{CPUs: "0.05", Memory: "32Mi"}

// run submits a task, follows it to its end and returns its log.
func run(t *testing.T, u *client.Client, wanted task.Spec) (string, task.Status) {
	t.Helper()
	wanted.Resources = small
	got, err := u.Submit(t.Context(), wanted)
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return end(t, u, got.ID)
}

func end(t *testing.T, u *client.Client, id string) (string, task.Status) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	var log bytes.Buffer
	if err := u.Logs(ctx, id, client.LogOptions{}, &log); err != nil {
		t.Fatalf("the log of %s: %v", id, err)
	}
	var s task.Status
	eventually(t, "task "+id+" to end", func() (string, bool) {
		var err error
		if s, err = u.Task(t.Context(), id); err != nil {
			return err.Error(), false
		}
		return string(s.Phase) + " " + s.Metadata.Message, s.Phase.Over()
	})
	return log.String(), s
}

// Tasks run on the cluster, and their status is correct through the Service, whichever pod
// answers.
func TestTasksRun(t *testing.T) {
	c := join(t)
	ann := c.as(t, "ann@example.com")
	for _, tt := range []struct {
		name  string
		task  task.Spec
		phase task.Phase
		log   string
	}{
		{"a failure", task.Spec{Run: "echo no; exit 3"}, task.Failed, "no\n"},
		{"variables and secrets", task.Spec{Envs: map[string]string{"A": "$(b)"}, Secrets: map[string]string{"S": "hidden"}, Run: `echo "$A $S"`}, task.Completed, "$(b) hidden\n"},
		{"nodes that find each other", task.Spec{NumNodes: 2, Run: `[ "$NODE_RANK" = 1 ] || [ "$(echo "$SKYPILOT_NODE_IPS" | wc -l)" = 2 ] && echo found`}, task.Completed, "found\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log, s := run(t, ann, tt.task)
			if s.Phase != tt.phase || !strings.HasSuffix(log, tt.log) {
				t.Errorf("%s (%s), log %q; want %s, %q", s.Phase, s.Metadata.Message, log, tt.phase, tt.log)
			}
		})
	}
}

func TestVolumesHoldWhatTasksWrite(t *testing.T) {
	c := join(t)
	ann := c.as(t, "volumes@example.com")
	v, err := ann.CreateVolume(t.Context(), task.Volume{Name: "notes", Size: "1Gi"})
	must.Succeed(t, err)
	mounted := map[string]string{"/data": "notes"}
	if _, s := run(t, ann, task.Spec{Run: "echo kept >/data/note", Volumes: mounted}); s.Phase != task.Completed {
		t.Fatalf("writing: %s %s", s.Phase, s.Metadata.Message)
	}
	if log, _ := run(t, ann, task.Spec{Run: "cat /data/note", Volumes: mounted}); log != "kept\n" {
		t.Errorf("read %q", log)
	}
	if _, err := ann.ForceDeleteVolume(t.Context(), v.ID); err != nil {
		t.Error(err)
	}
}

// The pods of tasks fetch their files through the Service, at the URL that the chart passes
// to the server.
func TestFilesReachTasks(t *testing.T) {
	need(t, testkit.EnvPrograms)
	c := join(t)
	home := t.TempDir()
	dir := filepath.Join(home, "work")
	for name, text := range map[string]string{"work/data.txt": "from here\n", "task.yaml": "workdir: work\nresources: {cpus: 0.05, memory: 32Mi}\nrun: cat data.txt\n"} {
		path := filepath.Join(home, name)
		must.Succeed(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(text), 0o600)))
	}
	program, err := filepath.Abs(filepath.Join(os.Getenv(testkit.EnvPrograms), "k8s-cli"))
	must.Succeed(t, err)
	cli := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "K8S_CLI_API_URL=" + c.url(t, release)}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := cli("auth", "login", "files@example.com"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := cli("jobs", "submit", "task.yaml")
	if err != nil || !strings.Contains(out, "from here\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// The Service leads to the API, which authenticates users as the values of the chart say.
func TestAnswers(t *testing.T) {
	c := join(t)
	url := c.url(t, release)
	for _, tt := range []struct {
		name, method, path, user, body string
		code                           int
		says                           string
	}{
		{"ready", "GET", "/readyz", "", "", 200, `"ready":true`},
		{"a submission", "POST", "/tasks/submit", "forms", `{"run":"true","volumes":{"/d":"nowhere"}}`, 200, "task_id"},
		{"a list", "GET", "/tasks", "forms", "", 200, `"tasks":[`},
		{"nobody", "GET", "/tasks", "", "", 401, "X-User"},
		{"an unknown field", "POST", "/tasks/submit", "forms", `{"run":"true","nodes":2}`, 422, "nodes"},
		{"stop all", "POST", "/tasks/stop", "forms", "", 200, "Stopped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request := testkit.Request{Method: tt.method, URL: url + tt.path}
			if tt.body != "" {
				request.Body = []byte(tt.body)
			}
			if tt.user != "" {
				request.Header = []string{"X-User", tt.user}
			}
			got, err := testkit.Send(t.Context(), http.DefaultClient, request)
			if err != nil || got.Code != tt.code || !strings.Contains(string(got.Body), tt.says) {
				t.Errorf("%.300s, %v; want %d and %q", got, err, tt.code, tt.says)
			}
		})
	}
}
