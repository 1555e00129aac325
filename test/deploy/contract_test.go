package deploy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
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
		{"a script", task.Spec{Run: "echo fine"}, task.Completed, "fine\n"},
		{"setup before run", task.Spec{Setup: "echo first", Run: "echo second"}, task.Completed, "first\nsecond\n"},
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(filepath.Join(os.Getenv(testkit.EnvPrograms), "k8s-cli"))
	if err != nil {
		t.Fatal(err)
	}
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

func TestEventsAreStreamed(t *testing.T) {
	c := join(t)
	ann := c.as(t, "events@example.com")
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	got, err := ann.Submit(ctx, task.Spec{Run: "true", Resources: small})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := ann.Subscribe(ctx, client.EventSource{Key: task.Key{Kind: task.KindTask, ID: got.ID}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var phases []string
	for {
		event, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %q: %v", phases, err)
		}
		if event.Type == task.EventPhase {
			phases = append(phases, event.Status)
		}
	}
	if all := strings.Join(phases, " "); all != "pending running completed" && all != "pending completed" {
		t.Errorf("phases %s", all)
	}
}

// Every pod knows what one pod accepted, and a stop takes effect on all pods.
func TestPodsAgree(t *testing.T) {
	c := join(t)
	ann := c.as(t, "agree@example.com")
	waiting := task.Spec{Run: "true", Volumes: map[string]string{"/data": "nowhere"}}
	for range 20 {
		got, err := ann.Submit(t.Context(), waiting)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range c.pods(t, api) {
			direct := client.New("http://"+pod.Status.PodIP+":8000", "agree@example.com")
			if _, err := direct.Task(t.Context(), got.ID); err != nil {
				t.Errorf("%s: %v", pod.Name, err)
			}
			direct.Close()
		}
	}
	stopped, err := ann.StopAll(t.Context(), false)
	if err != nil || stopped.Count != 20 {
		t.Errorf("stopped %d: %v", stopped.Count, err)
	}
}

// Answers follow the contract, including the answers to invalid requests.
func TestAnswers(t *testing.T) {
	c := join(t)
	url := c.url(t, release)
	for _, tt := range []struct {
		name, method, path, user, kind, body string
		code                                 int
		says                                 string
	}{
		{"health", "GET", "/", "", "", "", 200, `"status":"ok"`},
		{"alive", "GET", "/healthz", "", "", "", 200, "ok"},
		{"ready", "GET", "/readyz", "", "", "", 200, `"ready":true`},
		{"a task file", "POST", "/tasks/submit", "forms", "application/yaml", "run: 'true'\nvolumes: {/d: nowhere}\n", 200, "task_id"},
		{"a list", "GET", "/tasks", "forms", "", "", 200, `"tasks":[`},
		{"several", "POST", "/tasks/batch", "forms", "application/x-ndjson", `{"run":"true","volumes":{"/d":"nowhere"}}` + "\n" + `{"run":""}` + "\n", 200, `"detail"`},
		{"nobody", "GET", "/tasks", "", "", "", 401, "X-User"},
		{"no such task", "GET", "/tasks/aaaaaaaa", "forms", "", "", 404, "Task aaaaaaaa not found"},
		{"no such volume", "GET", "/volumes/aaaaaaaa", "forms", "", "", 404, "Volume aaaaaaaa not found"},
		{"no such route", "GET", "/nothing", "forms", "", "", 404, "detail"},
		{"a method that is none", "PUT", "/tasks", "forms", "", "", 405, "detail"},
		{"no JSON", "POST", "/tasks/submit", "forms", "application/json", "{", 400, "detail"},
		{"an unknown field", "POST", "/tasks/submit", "forms", "application/json", `{"run":"true","nodes":2}`, 422, "nodes"},
		{"too large", "POST", "/tasks/submit", "forms", "application/json", `{"run":"` + strings.Repeat("x", 200<<10) + `"}`, 413, "detail"},
		{"stop all", "POST", "/tasks/stop", "forms", "", "", 200, "Stopped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"X-User": tt.user, "Content-Type": tt.kind} {
				if value != "" {
					request.Header.Set(name, value)
				}
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.code || !strings.Contains(string(body), tt.says) {
				t.Errorf("%d %.300s, %v; want %d and %q", response.StatusCode, body, err, tt.code, tt.says)
			}
		})
	}
}
