package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

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
		parsed := parse(t, text)
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
	must.Succeed(t, err)
	return string(raw)
}
