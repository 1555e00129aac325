package features

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// soonKilled makes Kubernetes end the containers of a task soon after their SIGTERM.
const soonKilled = "config: {kubernetes: {pod_config: {spec: {terminationGracePeriodSeconds: 1}}}}\n"

// Tasks end when they have run for their max_duration: with restarts, between two attempts, on
// several nodes, and if the server dies meanwhile. The time that a task waits does not count.
func TestTasksEndAtTheirDeadline(t *testing.T) {
	t.Parallel()
	s := start(t, "--nats-url", external(t))
	ann := s.as(t, "ann")
	waits := ann.submit(t, "max_duration: 4s\n"+yaml("run", endless)+
		"config: {kubernetes: {pod_config: {spec: {terminationGracePeriodSeconds: 1, nodeSelector: {"+deadlineLabel+": "+ann.namespace+"}}}}}\n")
	ann.awaitWhere(t, waits, "waits for a machine", func(s task.Status) bool { return s.Metadata.Reason == "Unschedulable" })

	const recovers = "resources: {job_recovery: {max_restarts_on_errors: 3}}\n" + soonKilled
	all := []*limited{
		{limit: 20 * time.Second, file: recovers + yaml("run", endless)},
		{limit: 20 * time.Second, file: recovers + "run: exit 3\n"}, // starts again 10 s and 30 s after its first attempt
		{limit: 20 * time.Second, file: "num_nodes: 2\n" + recovers + yaml("run", endless)},
	}
	sleeps, fails, several := all[0], all[1], all[2]
	for _, l := range all {
		ann.submitLimited(t, l)
	}
	ann.awaitBefore(t, several, func(s task.Status) bool { return s.Metadata.Deadline != nil })
	ann.awaitBefore(t, fails, func(s task.Status) bool { return len(s.Metadata.Nodes[0].Attempts) > 0 })
	running := ann.awaitBefore(t, sleeps, func(s task.Status) bool {
		return s.Metadata.Deadline != nil && ann.log(t, sleeps.id, client.LogOptions{NoFollow: true}) == "begun\n"
	})
	if m := running.Metadata; m.MaxDuration != fmt.Sprintf("%.0fs", sleeps.limit.Seconds()) || time.Until(*m.Deadline) > sleeps.limit {
		t.Errorf("a running task shows %q and %s", m.MaxDuration, m.Deadline)
	}
	if text := ann.cli(t, "jobs", "status", sleeps.id).ok(t); !strings.Contains(text, "max_duration: "+running.Metadata.MaxDuration+", ") || !strings.Contains(text, " left\n") {
		t.Errorf("jobs status shows no time that is left:\n%s", text)
	}
	s.process.Kill()
	ann = s.again(t).as(t, "ann")

	for _, l := range all {
		ann.showsDeadline(t, l.id, l.limit)
	}
	if got := ann.task(t, fails.id).Metadata; got.Attempt < 1 || len(got.Nodes[0].Attempts) < 1 {
		t.Errorf("the task that failed in between shows %+v", got.Nodes[0])
	}
	if got := ann.log(t, sleeps.id, client.LogOptions{}); got != "begun\n" {
		t.Errorf("the log is %q", got)
	}
	ann.labelMachine(t, running.Metadata.Nodes[0].Host, deadlineLabel, ann.namespace)
	ann.showsDeadline(t, waits, 4*time.Second)
	if waited := startOf(ann.task(t, waits)).Sub(ann.task(t, waits).CreatedAt); waited < 4*time.Second {
		t.Errorf("the task waited only for %s", waited)
	}
}

// A limited task runs for a limit at most.
type limited struct {
	limit time.Duration
	file  string
	id    string
}

func (u *user) submitLimited(t *testing.T, l *limited) {
	t.Helper()
	l.id = u.submit(t, fmt.Sprintf("max_duration: %.0fs\n", l.limit.Seconds())+l.file)
}

// awaitBefore waits until the status of a task satisfies ok. If the task has reached its limit
// before, because the machine is busy, awaitBefore submits the task again with twice the limit.
func (u *user) awaitBefore(t *testing.T, l *limited, ok func(task.Status) bool) task.Status {
	t.Helper()
	for {
		s := u.awaitWhere(t, l.id, "", func(s task.Status) bool { return ok(s) || s.Phase.Over() })
		if ok(s) || l.limit > 5*time.Minute {
			return s
		}
		l.limit *= 2
		u.submitLimited(t, l)
	}
}

const deadlineLabel = "k8s-cli.test/deadline"

// labelMachine sets a label of a machine of the cluster until the test ends.
func (c *cluster) labelMachine(t *testing.T, name, key, value string) {
	t.Helper()
	set := func(ctx context.Context, value any) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}})
		if err == nil {
			_, err = c.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
		return err
	}
	must.Succeed(t, set(t.Context(), value))
	t.Cleanup(func() { _ = set(context.Background(), nil) })
}

// showsDeadline waits until a task has failed because of its max_duration, and checks for how
// long the task ran, and that no container of the task is left.
func (u *user) showsDeadline(t *testing.T, id string, limit time.Duration) {
	t.Helper()
	s := u.await(t, id, task.Failed)
	if m := s.Metadata; m.Reason != task.ReasonDeadline || !strings.HasPrefix(m.Message, "the task has run for its max_duration of ") || m.Hint == "" || m.Deadline != nil {
		t.Errorf("task %s: %+v", id, m)
	}
	ran := s.UpdatedAt.Sub(startOf(s)) // the start is in whole seconds
	t.Logf("task %s ran for %s", id, ran)
	if ran < limit || ran > limit+20*time.Second { // the server started again meanwhile
		t.Errorf("task %s ran for %s, want %s", id, ran, limit)
	}
	u.awaitNothing(t, id)
}

// startOf returns when the first container of a task started.
func startOf(s task.Status) time.Time {
	first := time.Now()
	for _, n := range s.Metadata.Nodes {
		starts := []*time.Time{n.StartedAt}
		for _, a := range n.Attempts {
			starts = append(starts, a.StartedAt)
		}
		for _, at := range starts {
			if at != nil && at.Before(first) {
				first = *at
			}
		}
	}
	return first
}
