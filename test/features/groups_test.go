package features

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// awaitGroup waits until the state of a group satisfies ok.
func (u *user) awaitGroup(t *testing.T, name, what string, ok func(group.Group) bool) (g group.Group) {
	t.Helper()
	eventually(t, "group "+name+" "+what, func() (string, bool) {
		var err error
		if g, err = u.Group(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s, %v", g.Phase, g.ByStatus), ok(g)
	})
	return g
}

// A sweep is one object: its tasks know their ranks, and its logs, its state and its end are those
// of all tasks.
func TestSweep(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.login(t)
	ann.put(t, map[string]string{"task.yaml": "name: shard\n" + yaml("run", "echo rank $SKYPILOT_JOB_RANK of $SKYPILOT_NUM_JOBS\ntest \"${SKYPILOT_JOB_RANK:-0}\" != 1 || exit 7")})
	ann.cli(t, "jobs", "submit", "-d", "task.yaml", "--num-jobs", "3", "--group", "shards").ok(t)
	if got := ann.cli(t, "jobs", "wait", "--group", "shards"); got.code != 100 || !strings.Contains(got.out, "Group shards failed: 2 completed, 1 failed; first failure: ") {
		t.Errorf("jobs wait: %+v", got)
	}
	log := ann.cli(t, "jobs", "logs", "--group", "shards").out
	for rank := range 3 {
		if line := fmt.Sprintf("rank %d of 3\n", rank); strings.Count(log, line) != 1 {
			t.Errorf("%q is not once in the logs: %s", line, log)
		}
	}
	g := ann.awaitGroup(t, "shards", "is over", func(g group.Group) bool { return g.Over() == 3 })
	if f := g.First; f == nil || f.ExitCode == nil || *f.ExitCode != 7 || f.Name != "shard" || g.Progress != 1 || g.EndedAt == nil || g.StartedAt == nil || g.Phase != task.Failed {
		t.Errorf("the group is %+v, its first failure %+v", g, g.First)
	}
	page, err := ann.RowPage(t.Context(), query.Tasks{Group: "shards", Phases: []task.Phase{task.Completed}})
	if err != nil || page.Total != 2 || page.Items[0].Group != "shards" {
		t.Errorf("completed tasks of the group: %+v, %v", page, err)
	}
	events, err := ann.Events(t.Context(), client.EventSource{Group: "shards"})
	if err != nil || len(events) < 3*3 {
		t.Errorf("%d events, %v", len(events), err)
	}
	for _, e := range events {
		if e.Group != "shards" {
			t.Errorf("an event of another group: %+v", e)
		}
	}
	again := ann.submitFile(t, "task.yaml", "--group", "others")
	ann.await(t, again, task.Completed)
	if g, err := ann.Group(t.Context(), "shards"); err != nil || g.Total != 3 {
		t.Errorf("after a task of another group: %+v, %v", g, err)
	}
}

// A stop of a group in the middle of its backlog ends all its tasks, leaves no Job of the group, and
// affects no other task.
func TestStopGroupOfFakePods(t *testing.T) {
	c := join(t)
	c.needFakes(t)
	const tasks, jobs, others = 200, 20, 5
	s := c.serve(t, "--max-active-jobs", fmt.Sprint(jobs), "--allowed-annotations", "pod-end.k8s-cli.local/")
	ann := s.as(t, "ann")
	spec := parse(t, endsAfter("1h"))
	var items []client.Item
	for n := range tasks + others {
		items = append(items, client.Item{Spec: spec, Membership: group.Membership{Group: map[bool]string{true: "sweep", false: "other"}[n < tasks]}})
	}
	if results, err := ann.SubmitItems(t.Context(), items); err != nil || len(results) != len(items) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	ann.awaitGroup(t, "sweep", "runs", func(g group.Group) bool { return g.ByStatus[task.Running] >= jobs/2 })
	stopped, err := ann.StopGroup(t.Context(), "sweep")
	if err != nil || stopped.Count != tasks {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	if g, err := ann.Group(t.Context(), "sweep"); err != nil || g.ByStatus[task.Stopped] != tasks || g.Phase != task.Stopped || g.EndedAt == nil {
		t.Errorf("after the stop: %+v, %v", g, err)
	}
	eventually(t, "Jobs of the group", func() (string, bool) {
		left, err := c.BatchV1().Jobs(c.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: task.LabelGroup + "=sweep"})
		must.Succeed(t, err)
		return fmt.Sprintf("%d are left", len(left.Items)), len(left.Items) == 0
	})
	ann.awaitGroup(t, "other", "runs", func(g group.Group) bool { return g.ByStatus[task.Running] == others })

	running, err := ann.TaskPage(t.Context(), query.Tasks{Group: "other", Phases: []task.Phase{task.Running}, Limit: 1})
	if err != nil || len(running.Items) != 1 {
		t.Fatalf("%+v, %v", running, err)
	}
	on := query.Tasks{Machines: []string{running.Items[0].Metadata.Nodes[0].Host}, Not: &query.Tasks{Group: "sweep"}}
	if same, err := ann.RowPage(t.Context(), on); err != nil || same.Total < 1 {
		t.Errorf("tasks on the machine %s: %+v, %v", on.Machines[0], same, err)
	}
	if _, err := ann.StopTasks(t.Context(), on); !errors.Is(err, problem.Invalid) {
		t.Errorf("a stop by machine: %v", err)
	}
	if stopped, err := ann.StopTasks(t.Context(), query.Tasks{Group: "other", NameContains: []string{"TASK-"}, Not: &query.Tasks{GPUs: []string{"0"}}}); err != nil || stopped.Count != 0 {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	if stopped, err := ann.StopTasks(t.Context(), query.Tasks{NameContains: []string{"TASK-"}, GPUs: []string{"0"}}); err != nil || stopped.Count != others {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
}
