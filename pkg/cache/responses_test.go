package cache

import (
	"testing"

	"k8s-cli/pkg/task"
)

// A counting renderer renders as fakeRenderer does and counts the calls.
type counting struct {
	fakeRenderer
	made *int
}

func (c counting) Task(v task.View) []byte { *c.made++; return c.fakeRenderer.Task(v) }

func TestResponseIsEncodedOnceUntilItsTaskChanges(t *testing.T) {
	p, made := newTestStore(t), 0
	p.renderBy(counting{made: &made})
	c := submit("ann", "a")
	p.apply(c, submit("ann", "b"), applied(taskKey("a"), "u"))
	if made != 0 {
		t.Errorf("%d answers were encoded that nobody asked for", made)
	}
	for range 3 {
		p.TaskAnswer("ann", "a")
		p.TaskAnswers(listOf(task.Query{User: "ann"}))
	}
	if made != 2 {
		t.Errorf("answers for two tasks were encoded %d times", made)
	}
	j := job(c, 0, task.Pending)
	j.UID = "u"
	p.putJob(j)
	p.putPod(pod(j, 1, task.Running))
	if body, _ := p.TaskAnswer("ann", "a"); string(body) != "a of ann: running" || made != 3 {
		t.Errorf("after a change: %q, encoded %d times", body, made)
	}
}
