package features

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/test/testkit/must"
)

// countsJobs counts the Jobs of a group that have not ended, from their first appearance on. The
// returned function returns the largest count so far and the number of Jobs.
func (c *cluster) countsJobs(t *testing.T, name string) func() (most, all int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watched, err := c.BatchV1().Jobs(c.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: task.LabelGroup + "=" + name})
	must.Succeed(t, err)
	counts := make(chan [2]int, 1)
	counts <- [2]int{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		running, seen := map[string]bool{}, map[string]bool{}
		for e := range watched.ResultChan() {
			job, ok := e.Object.(*batchv1.Job)
			if !ok {
				return
			}
			seen[job.Name] = true
			if running[job.Name] = e.Type != "DELETED" && job.Status.Succeeded+job.Status.Failed == 0; !running[job.Name] {
				delete(running, job.Name)
			}
			last := <-counts
			counts <- [2]int{max(last[0], len(running)), len(seen)}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() (int, int) {
		last := <-counts
		counts <- last
		return last[0], last[1]
	}
}

// A group with max_parallel never has more Jobs that run, also if the server dies meanwhile, and all
// its tasks complete.
func TestMaxParallelOfFakePods(t *testing.T) {
	c := join(t)
	c.needFakes(t)
	const tasks, limit = 60, 4
	s := c.serve(t, "--nats-url", external(t), "--allowed-annotations", "pod-end.k8s-cli.local/")
	ann := s.as(t, "ann")
	spec := parse(t, endsAfter("300ms"))
	jobs := c.countsJobs(t, "sweep")
	items := make([]client.Item, tasks)
	for i := range items {
		items[i] = client.Item{Spec: spec, Membership: group.Membership{Group: "sweep", MaxParallel: limit}}
	}
	results, err := ann.SubmitItems(t.Context(), items)
	if err != nil || len(results) != tasks {
		t.Fatalf("%d results, %v", len(results), err)
	}
	held := ann.task(t, results[tasks-1].ID).Metadata
	if held.Reason != task.ReasonGroupLimit || held.Message != fmt.Sprintf("the task waits until fewer than %d tasks of group sweep are active", limit) || held.Hint == "" {
		t.Errorf("a held task says %s: %s (%s)", held.Reason, held.Message, held.Hint)
	}
	ann.awaitGroup(t, "sweep", "is at its middle", func(g group.Group) bool { return g.Over() >= tasks/3 })
	s.process.Kill()
	ann = s.again(t).as(t, "ann")
	g := ann.awaitGroup(t, "sweep", "is over", func(g group.Group) bool { return g.Over() == tasks })
	if g.ByStatus[task.Completed] != tasks {
		t.Errorf("the group ended with %v", g.ByStatus)
	}
	if most, all := jobs(); most > limit || most < limit-1 || all != tasks {
		t.Errorf("%d of %d Jobs ran at once, want at most %d of %d", most, all, limit, tasks)
	}
}

// The first failure of a group with --fail-fast stops the tasks that run and those that wait.
func TestFailFast(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.login(t)
	ann.put(t, map[string]string{"task.yaml": yaml("run", "test $SKYPILOT_JOB_RANK != 1 || { sleep 2; exit 7; }\nsleep 600") + soonKilled})
	ids := strings.Fields(ann.cli(t, "jobs", "submit", "-d", "-q", "task.yaml", "--num-jobs", "4", "--group", "shards", "--max-parallel", "2", "--fail-fast").ok(t))
	if len(ids) != 4 {
		t.Fatalf("ids %q", ids)
	}
	ann.awaitGroup(t, "shards", "is over", func(g group.Group) bool { return g.Over() == 4 })
	for rank, id := range ids {
		want, m := task.Stopped, ann.task(t, id)
		if rank == 1 {
			want = task.Failed
		}
		if m.Phase != want || rank != 1 && m.Metadata.Reason != task.ReasonGroupFailed {
			t.Errorf("task %d is %s: %s: %s", rank, m.Phase, m.Metadata.Reason, m.Metadata.Message)
		}
	}
	if m := ann.task(t, ids[3]); len(m.Metadata.Nodes) > 0 && m.Metadata.Nodes[0].StartedAt != nil {
		t.Errorf("a task that waited has run: %+v", m.Metadata.Nodes)
	}
	for _, flag := range []string{"--fail-fast", "--max-parallel=2"} {
		if got := ann.cli(t, "jobs", "submit", "-d", "task.yaml", flag); got.code != 2 || !strings.Contains(got.errOut, "need a group") {
			t.Errorf("%s without a group: %+v", flag, got)
		}
	}
}
