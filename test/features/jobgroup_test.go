package features

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// rlhf is a job group of three shapes: two primary tasks, and a buffer that serves them until they
// have completed. The trainer runs until the test creates /tmp/go in its first node.
const rlhf = `name: rlhf
execution: parallel
primary_tasks: [trainer, actor]
termination_delay: {default: 1h, buffer: 2s}
---
name: trainer
num_nodes: 2
envs: {TAG: none}
run: |
  until got=$(nc buffer-0.rlhf 7000 </dev/null) && [ -n "$got" ]; do sleep 0.2; done
  echo "$SKYPILOT_JOBGROUP_NAME: node $SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES got $got"
  grep -o '[^ ]*\.rlhf$' /etc/hosts | sort | tr '\n' ' '
  echo
  if [ "$SKYPILOT_NODE_RANK" = 0 ]; then until [ -e /tmp/go ]; do sleep 0.1; done; fi
---
name: actor
envs: {TAG: none}
resources: {cpus: 0.1}
run: |
  until got=$(nc buffer-0.rlhf 7000 </dev/null) && [ -n "$got" ]; do sleep 0.2; done
  echo "got $got"
---
name: buffer
envs: {TAG: none}
run: while true; do echo "the data of $TAG" | nc -l -p 7000; done
`

// submitSeveral submits the tasks of a file of several documents with the CLI, and returns the
// tasks.
func (u *user) submitSeveral(t *testing.T, file, group string) []task.Status {
	t.Helper()
	u.put(t, map[string]string{"several.yaml": file})
	u.cli(t, "jobs", "submit", "-d", "several.yaml", "--group", group, "--env", "TAG="+u.name).ok(t)
	return u.tasksOf(t, group)
}

// Two users run job groups of one name at once. Each job group has its own names, and its auxiliary
// task ends after the delay.
func TestJobGroups(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-exec")
	users := []*user{s.as(t, "ann"), s.as(t, "bob")}
	var groups [2][]task.Status
	for i, u := range users {
		groups[i] = u.submitSeveral(t, rlhf, "pair")
		if m := groups[i][2].Metadata; m.JobGroup != "rlhf" || m.GroupID != groups[i][0].ID || m.GroupRole != "auxiliary" || groups[i][1].Metadata.GroupRole != "primary" {
			t.Errorf("the buffer says %+v", m)
		}
	}
	for i, u := range users {
		id := groups[i][0].ID
		eventually(t, "the trainer of "+u.name+" has data", func() (string, bool) {
			var text strings.Builder
			err := u.Logs(t.Context(), id, client.LogOptions{NoFollow: true}, &text)
			return fmt.Sprint(text.String(), err), strings.Contains(text.String(), "node-0 | rlhf: node 0 of 2 got the data of "+u.name) &&
				strings.Contains(text.String(), "node-1 | rlhf: node 1 of 2 got the data of "+u.name) &&
				strings.Contains(text.String(), "node-0 | actor-0.rlhf buffer-0.rlhf trainer-0.rlhf trainer-1.rlhf")
		})
		u.await(t, groups[i][1].ID, task.Completed)
		if buffer := u.task(t, groups[i][2].ID); buffer.Phase != task.Running || buffer.Metadata.StopsAt != nil {
			t.Errorf("while a primary task runs, the buffer is %s and stops at %v", buffer.Phase, buffer.Metadata.StopsAt)
		}
	}
	for i, u := range users {
		u.cli(t, "jobs", "exec", groups[i][0].ID, "--no-stdin", "--", "touch", "/tmp/go").ok(t)
	}
	for i, u := range users {
		trainer, buffer := u.await(t, groups[i][0].ID, task.Completed), u.await(t, groups[i][2].ID, task.Completed)
		if m := buffer.Metadata; m.Reason != task.ReasonPrimariesDone || !strings.Contains(m.Message, "termination_delay of 2s") || m.Hint != "" {
			t.Errorf("the buffer says %s: %s (%s)", m.Reason, m.Message, m.Hint)
		}
		if after := buffer.UpdatedAt.Sub(trainer.UpdatedAt); after < 2*time.Second {
			t.Errorf("the buffer ended %s after the trainer", after)
		}
		got := u.cli(t, "jobs", "logs", "--group", "pair")
		got.ok(t)
		if !strings.Contains(got.out, "actor | got the data of "+u.name) || !strings.Contains(got.out, "trainer | node-1 | rlhf: node 1 of 2") {
			t.Errorf("the logs are %s", got.out)
		}
		s.awaitNothing(t, groups[i][2].ID)
	}
}
