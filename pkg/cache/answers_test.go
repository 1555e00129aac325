package cache

import (
	"testing"

	"k8s-cli/pkg/task"
)

// A caller that has the encoded answer for a version of a task gets no view of the task.
func TestAnswersThatTheCallerHas(t *testing.T) {
	c := submit("ann", "a")
	p := newTestStore(t, c, admitted("a"), applied(taskKey("a"), "u"))
	encoded := map[string]uint64{}
	have := func(id string, version uint64) []byte {
		if known, ok := encoded[id]; ok && known == version {
			return []byte("encoded")
		}
		return nil
	}
	first, ok := p.TaskAnswer("ann", "a", 0)
	if !ok || first.View == nil {
		t.Fatalf("the first answer: %+v", first)
	}
	encoded["a"] = first.Version
	if again, _ := p.TaskAnswer("ann", "a", first.Version); again.View != nil || again.Version != first.Version {
		t.Errorf("the same version: %+v", again)
	}
	p.TaskAnswers(listOf(task.Query{User: "ann"}), have, func(a Answer) {
		if a.View != nil || string(a.Encoded) != "encoded" {
			t.Errorf("the same version in a list: %+v", a)
		}
	})
	j := job(c, 0, task.Pending)
	j.UID = "u"
	p.putJob(j)
	p.putPod(pod(j, 1, task.Running))
	if next, _ := p.TaskAnswer("ann", "a", first.Version); next.View == nil || next.Version == first.Version {
		t.Errorf("after a change: %+v", next)
	}
}
