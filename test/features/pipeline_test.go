package features

import (
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// tasksOf returns the tasks of a group in the order of their submission.
func (u *user) tasksOf(t *testing.T, group string) (all []task.Status) {
	t.Helper()
	page, err := u.RowPage(t.Context(), query.Tasks{Group: group, Sort: query.ByCreated})
	must.Succeed(t, err)
	for _, r := range page.Items {
		s, err := u.Task(t.Context(), r.ID)
		must.Succeed(t, err)
		all = append(all, s)
	}
	return all
}

// The tasks of a pipeline run one after the other, and a failure ends the tasks after it.
func TestPipeline(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.login(t)
	ann.put(t, map[string]string{"pipeline.yaml": "name: nightly\n---\nname: train\nrun: sleep 1; echo trained\n---\nname: eval\nrun: echo evaluated; exit $CODE\nenvs: {CODE: 0}\n---\nname: report\nrun: echo reported\n"})
	got := ann.cli(t, "jobs", "submit", "pipeline.yaml", "--group", "good")
	got.ok(t)
	if i, j, k := strings.Index(got.out, "trained"), strings.Index(got.out, "evaluated"), strings.Index(got.out, "reported"); i < 0 || j < i || k < j {
		t.Errorf("the logs are not in order: %s", got.out)
	}
	all := ann.tasksOf(t, "good")
	for i, s := range all {
		if s.Phase != task.Completed || i > 0 && s.Metadata.Nodes[0].StartedAt.Before(*all[i-1].Metadata.Nodes[0].FinishedAt) {
			t.Errorf("task %d is %s, and began at %s; the task before ended at %v", i, s.Phase, s.Metadata.Nodes[0].StartedAt, all[max(i-1, 0)].Metadata.Nodes[0].FinishedAt)
		}
	}
	if got := ann.cli(t, "jobs", "submit", "pipeline.yaml", "--group", "bad", "--env", "CODE=3"); got.code != 100 {
		t.Errorf("a pipeline whose second task fails: %+v", got)
	}
	all = ann.tasksOf(t, "bad")
	phases := []task.Phase{all[0].Phase, all[1].Phase, all[2].Phase}
	if !slices.Equal(phases, []task.Phase{task.Completed, task.Failed, task.Failed}) || all[2].Metadata.Reason != task.ReasonDependency || !strings.Contains(all[2].Metadata.Message, all[1].ID) {
		t.Errorf("the tasks are %v, the last one because of %s: %s", phases, all[2].Metadata.Reason, all[2].Metadata.Message)
	}
	if jobs := ann.jobs(t, all[2].ID); len(jobs) != 0 {
		t.Errorf("the task that never began has %d Jobs", len(jobs))
	}
}
