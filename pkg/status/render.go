// Package status answers read requests from the store. It encodes the answer for each object,
// and combines these answers into lists.
package status

import (
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
	"k8s-cli/pkg/task/outputs"
)

// A renderer returns what users see of an object. The same view always gives the same result.
type renderer struct {
	namespace string // of the Jobs and claims
}

// encode ignores errors, because the bodies of this package cannot fail: they consist of
// strings, numbers and times.
func encode(v any) []byte {
	raw, _ := task.Marshal(v)
	return raw
}

// task returns the answer to GET /tasks/{id}.
func (r renderer) task(v task.View) task.Status {
	nodes := v.NodeList()
	s := task.Status{
		ID:        v.Submit.ID,
		Name:      v.Name(),
		Phase:     v.CurrentPhase(),
		CreatedAt: v.CreatedAt,
		UpdatedAt: v.Changed(),
		Username:  task.Sanitized(v.Submit.User),
		Metadata: task.Metadata{
			JobName:   task.JobName(v.Submit.Task.Name, v.Submit.ID, 0, 1),
			Namespace: r.namespace,
			NumNodes:  len(nodes),
			NodeJobs:  v.JobNames(),
			User:      v.Submit.User,
			Group:     v.Submit.Group,
			Ports:     v.Submit.Resources().Ports,
			Nodes:     nodes,

			MaxDuration: v.Submit.Task.MaxDuration,
			Outputs:     outputsOf(v, len(nodes)),
			Annotations: v.Submit.Task.Annotations,
		},
	}
	if at, ok := v.Deadline(); ok && !s.Phase.Over() {
		s.Metadata.Deadline = &at
	}
	if g := v.Submit.JobGroup; g != nil {
		s.Metadata.JobGroup, s.Metadata.GroupID, s.Metadata.GroupRole = g.Name, g.ID, g.Role()
	}
	if !v.StopAt.IsZero() {
		s.Metadata.StopsAt = &v.StopAt
	}
	why := v.Explain(nodes)
	s.Metadata.Reason, s.Metadata.Message, s.Metadata.Hint = why.Reason, why.Message, why.Hint
	for i, n := range nodes {
		nodes[i] = n.Split()
		nodes[i].Hint = v.NodeHint(n)
		switch n.Phase {
		case task.Completed:
			s.Metadata.Succeeded++
		case task.Failed:
			s.Metadata.Failed++
		case task.Running:
			s.Metadata.Running++
		case task.Pending:
			s.Metadata.Pending++
		}
	}
	attempt.Describe(v, &s.Metadata)
	return s
}

// outputsOf returns the outputs of the nodes of a task.
func outputsOf(v task.View, nodes int) []outputs.Output {
	if len(v.Submit.Task.Outputs) == 0 {
		return nil
	}
	return outputs.Describe(v.Outputs, nodes, v.Phase == task.Completed)
}

// volume returns the answer to GET /volumes/{id}.
func (r renderer) volume(v task.VolumeView) task.VolumeStatus {
	asked, why := v.Create.Volume, v.Explain()
	s := task.VolumeStatus{
		ID:          v.Create.ID,
		Name:        asked.Name,
		Size:        asked.Size,
		AccessModes: asked.Modes(),
		Phase:       v.CurrentPhase(),
		CreatedAt:   v.CreatedAt,
		Username:    task.Sanitized(v.Create.User),
		Metadata: task.VolumeMetadata{
			ClaimName: v.ClaimName(),
			Namespace: r.namespace,
			User:      v.Create.User,
			Reason:    why.Reason,
			Message:   why.Message,
			Hint:      why.Hint,
		},
	}
	if asked.StorageClass != nil {
		s.StorageClass = asked.StorageClass
	} else if v.Claim != nil {
		s.StorageClass = v.Claim.StorageClass
	}
	return s
}
