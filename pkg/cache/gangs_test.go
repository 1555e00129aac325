package cache

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// applyJobGroup folds the submission of a job group whose tasks have one node each. change changes each
// submission.
func (p *testStore) applyJobGroup(change func(*task.Submit), ids ...string) {
	p.t.Helper()
	var e task.Entry
	for i, id := range ids {
		s := &task.Submit{
			ID: id, User: "ann", Image: "i", Task: task.Spec{Name: id, Run: "true"},
			JobGroup: &task.JobGroup{ID: ids[0], Name: "j", Index: i, Tasks: len(ids), Jobs: len(ids), Primary: true},
		}
		if i == 0 {
			s.Together = len(ids)
		}
		change(s)
		raw, err := task.Command{Submit: s}.Encode()
		must.Succeed(p.t, err)
		e.Commands = append(e.Commands, json.RawMessage(raw))
	}
	p.seq++
	e.Version, e.Log, e.Writer, e.Number, e.Seq, e.Time = task.EntryVersion, "log", "writer", p.seq, p.seq, noon
	if results, err := p.Fold(e); err != nil || results[0].Rejection != "" {
		p.t.Fatal(results, err)
	}
}

// A job group is not admitted while one of its tasks waits for a volume, and says so in its first task.
func TestAJobGroupWaitsForItsVolumes(t *testing.T) {
	p := newTestStore(t, submit("ann", "z"))
	p.SetAdmissionLimits(limits(10, 0, 0))
	p.applyJobGroup(func(s *task.Submit) {
		if s.JobGroup.Index == 1 {
			s.Task.Volumes = map[string]string{"/data": "absent"}
		}
	}, "a", "b", "c")
	if got := p.Admission(100).Next.IDs; !slices.Equal(got, []string{"z"}) {
		t.Errorf("admitted: %q", got)
	}
	if v := p.TaskView("a"); v.Explain(v.NodeList()).Reason != task.ReasonVolume {
		t.Errorf("the first task says %+v", v.Explain(v.NodeList()))
	}
	p.apply(
		task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "absent", Size: "1Gi"}}},
		task.Command{Applied: &task.Applied{Key: task.Key{Kind: task.KindVolume, ID: "v"}, UIDs: []string{"u"}}},
	)
	if got := p.Admission(100).Next.IDs; !slices.Equal(got, []string{"z", "a"}) {
		t.Errorf("admitted with the volume: %q", got)
	}
	p.apply(task.Command{Delete: &task.Delete{ID: "v", User: "ann"}})
	if got := p.Admission(100).Next.IDs; !slices.Equal(got, []string{"z"}) {
		t.Errorf("admitted after the deletion of the volume: %q", got)
	}
}

// The Job of a job group is suspended by k8s-cli until all Jobs exist, also if its task has one node.
func TestASuspendedJobOfAJobGroup(t *testing.T) {
	p := newTestStore(t)
	p.applyJobGroup(func(*task.Submit) {}, "a", "b")
	p.apply(task.Command{Admitted: &task.Admitted{IDs: []string{"a"}}})
	r := p.TaskView("a").Record
	jobSink{p.Store}.Put(&task.Job{Name: r.JobNames()[0], UID: "u", TaskID: "a", User: "ann", Hash: r.Hash, Suspended: true, Phase: task.Pending})
	if v := p.TaskView("a"); v.Explain(v.NodeList()).Reason == "JobSuspended" {
		t.Errorf("the task says %+v", v.Explain(v.NodeList()))
	}
}
