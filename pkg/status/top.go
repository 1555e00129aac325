package status

import (
	"k8s-cli/pkg/cache/samples"
	"k8s-cli/pkg/task"
)

// Top answers what the nodes of one task of user use; the error is of kind problem.NotFound if the
// user has no such task.
func (r Read) Top(user, id string) (task.Answer, error) {
	v := r.Store.TaskView(id)
	if v.Record == nil || v.Submit.User != user {
		return task.Answer{Stale: r.Stale}, task.ErrNoTask(id)
	}
	return r.answer(encode(top(v, r.Store.Samples))), nil
}

func top(v task.View, s *samples.Samples) task.TopTask {
	t := task.TopTask{ID: v.Submit.ID, Name: v.Name(), Phase: v.CurrentPhase(), Requested: v.Submit.Resources().Amounts()}
	for _, n := range v.NodeList() {
		t.Nodes = append(t.Nodes, task.TopNode{Rank: n.Rank, Phase: n.Phase, Pod: n.Pod, Host: n.Host, MaxUsed: n.MaxUsed})
	}
	if t.Phase.Over() {
		return t
	}
	if t.Phase == task.Running {
		t.Problem = s.Problem()
	}
	for _, one := range s.Of(t.ID) {
		if one.Rank >= len(t.Nodes) {
			continue
		}
		n := &t.Nodes[one.Rank]
		if n.MaxUsed, n.SampledAt = &one.Max, &one.At; n.Phase == task.Running {
			n.Used = &one.Used
		}
		if t.SampledAt == nil || one.At.After(*t.SampledAt) {
			t.SampledAt = &one.At
		}
	}
	return t
}
