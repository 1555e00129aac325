package features

import (
	"fmt"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

// A server whose log is lost adopts the tasks of its cluster: nothing is deleted, nothing
// runs twice, and the owners can continue to use their tasks.
func TestServerWithoutItsLogAdoptsTasks(t *testing.T) {
	t.Parallel()
	c := join(t)
	before := c.serve(t)
	ann := before.as(t, "ann@example.com")
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, volume)
	done := ann.submit(t, "run: echo done")
	ann.await(t, done, task.Completed)
	waits := ann.submit(t, "name: Waits\nnum_nodes: 2\nrun: sleep 600")
	ann.await(t, waits, task.Running)
	jobs := c.jobs(t, waits)
	before.process.Kill()

	after := c.serve(t)
	ann = after.as(t, "ann@example.com")
	eventually(t, "both tasks are there", func() (string, bool) {
		ids := ann.tasks(t)
		return strings.Join(ids, " "), len(ids) == 2
	})
	if s := ann.await(t, done, task.Completed); s.Metadata.Succeeded != 1 {
		t.Errorf("the finished task is %s", sketch(s))
	}
	if s := ann.await(t, waits, task.Running); s.Name != "Waits" || s.Metadata.NumNodes != 2 {
		t.Errorf("the running task is %s", sketch(s))
	}
	eventually(t, "the volume is there", func() (string, bool) {
		v, err := ann.Volume(t.Context(), volume)
		return v.Phase, err == nil && v.Name == "data" && v.Size == "1Gi" && v.Phase == task.VolumeBound
	})
	after.get(t, "ann-example.com", "/tasks/"+waits).wants(t, 404, "Task "+waits+" not found")
	for i, job := range c.jobs(t, waits) {
		if job.UID != jobs[i].UID {
			t.Errorf("job %s is another one than before", job.Name)
		}
	}
	if _, err := ann.Stop(t.Context(), waits); err != nil {
		t.Error(err)
	}
	eventually(t, "the stopped task has no Jobs", func() (string, bool) {
		left := c.jobs(t, waits)
		return fmt.Sprintf("%d Jobs", len(left)), len(left) == 0
	})
	ann.deleteVolume(t, volume)
	ann.awaitNoClaim(t, "data-"+volume)
}
