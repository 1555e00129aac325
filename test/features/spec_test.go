package features

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/test/testkit"
)

// The server returns the submission of a task, even of a rejected task, as the fields of a
// task file. The task file can be submitted again.
func TestTaskSpecIsReturned(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	const text = `
name: asked
num_nodes: 2
resources: {cpus: "1+", any_of: [{memory: 1}, {memory: 2}], labels: {team: a}}
envs: {A: "1", B: ""}
volumes: {/data: nowhere}
setup: |
  echo set up
run: |
  echo $A
`
	id := ann.submit(t, text)
	want, _, err := taskfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ann.stop(t, id)
	for _, again := range []bool{false, true} {
		if again {
			s.process.Kill()
			s = s.again(t)
			ann = s.as(t, "ann")
		}
		got, err := ann.Spec(t.Context(), id)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("after a restart: %t: %v (-submitted +told):\n%s", again, err, diff)
		}
	}
	told := s.get(t, "ann", "/tasks/"+id+"/spec")
	if a := s.get(t, "ann", "/tasks/"+id+"/spec", "If-None-Match", told.header.Get("ETag")); a.code != http.StatusNotModified {
		t.Errorf("the same again: %d", a.code)
	}
	if got, _, err := taskfile.ParseJSON(told.body); err != nil || !cmp.Equal(want, got) {
		t.Errorf("what is told is no task: %v", err)
	}
	s.get(t, "ann", "/tasks/nosuchid/spec").wants(t, 404, "Task nosuchid not found")
}

func TestTaskRerun(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	file := filepath.Join(ann.home, "task.yaml")
	testkit.Write(t, file, "envs: {WHO: world}\nsecrets: {TOKEN: null}\nrun: echo hello $WHO, ${#TOKEN} letters\n")
	id := ann.submitWithSecret(t, file)
	if r := ann.begin(t, "jobs", "rerun", id).end(t); r.code != 1 || !strings.Contains(r.errOut, "--secret TOKEN") {
		t.Errorf("without the secret: %+v", r)
	}
	out := ann.begin(t, "jobs", "rerun", id, "--secret", "TOKEN=four", "--env", "WHO=all").end(t).ok(t)
	m := regexp.MustCompile(`Task ID: (\S+)`).FindStringSubmatch(out)
	if m == nil || m[1] == id || !strings.Contains(out, "hello all, 4 letters\n") {
		t.Fatalf("jobs rerun printed %q", out)
	}
	if got := ann.task(t, m[1]); got.Phase != task.Completed {
		t.Errorf("it is %s", got.Phase)
	}
	if first := ann.await(t, id, task.Completed); first.Metadata.NumNodes != 1 {
		t.Errorf("the first one: %+v", first)
	}
}

// The objects of a dry run are objects that the API server accepts and that a submission
// creates.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	for name, text := range map[string]string{
		"the least": "run: 'true'",
		"much": `
name: much
resources: {cpus: 1, memory: 1, labels: {team: a}}
envs: {A: "$(B)"}
volumes: {/data: data}
setup: echo set up
run: echo $A`,
		"two nodes": "num_nodes: 2\nrun: echo $SKYPILOT_NODE_RANK",
	} {
		parsed, _, err := taskfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ann.Preview(t.Context(), parsed)
		if err != nil || len(got.Warnings) > 0 && name != "much" { // warning: the volume may not be bound yet
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		id := ann.submit(t, text)
		for rank := range parsed.Nodes() {
			var job batchv1.Job
			if err := json.Unmarshal(got.Objects[rank], &job); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			taken, err := s.BatchV1().Jobs(s.namespace).Create(t.Context(), &job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				t.Fatalf("%s: the API server says %v", name, err)
			}
			var made *batchv1.Job
			eventually(t, name+" has its Jobs", func() (string, bool) {
				jobs := s.jobs(t, id)
				if len(jobs) == parsed.Nodes() {
					i := slices.IndexFunc(jobs, func(j batchv1.Job) bool { return j.Labels[task.LabelNode] == taken.Labels[task.LabelNode] })
					made = &jobs[i]
				}
				return fmt.Sprint(len(jobs)), made != nil
			})
			shown := strings.ReplaceAll(container(t, taken), job.Labels[task.LabelTaskID], id)
			if diff := cmp.Diff(container(t, made), shown); diff != "" {
				t.Errorf("%s: what is there, and what a dry run shows:\n%s", name, diff)
			}
		}
	}
	if all := ann.tasks(t); len(all) != 3 {
		t.Errorf("tasks %q of three that were submitted", all)
	}
}

// container renders the container of a Job, without the time of its submission.
func container(t *testing.T, j *batchv1.Job) string {
	t.Helper()
	c := j.Spec.Template.Spec.Containers[0]
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(e corev1.EnvVar) bool { return e.Name == "SKYPILOT_TASK_ID" })
	raw, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
