package status

import (
	"context"
	"fmt"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/problem"
)

var errBehind = problem.New(problem.Unavailable, "this pod of the server cannot read the end of the log, and does not know the task; try again")

// OutputRecord returns the record of a task, and the size of the stored outputs of its user. The
// error is of kind problem.NotFound if the task does not exist or has no outputs.
func (v *Viewer) OutputRecord(ctx context.Context, id string) (r *task.Record, used int64, err error) {
	_, current := v.log.WaitReadIndex(ctx)
	r, used, ok := v.projection.OutputRecord(id)
	switch {
	case !ok && !current: // a node gives up after a 404
		return nil, 0, errBehind
	case !ok:
		return nil, 0, task.ErrNoTask(id)
	}
	if len(r.Submit.Task.Outputs) == 0 {
		return nil, 0, problem.New(problem.OutputsNotFound, "Task "+id+" has no outputs; name them under outputs in the task file")
	}
	return r, used, nil
}

// Outputs returns the stored outputs of one node of a task of user. The error is of kind
// problem.NotFound if the user has no such task, or if the server has no outputs of the node.
func (v *Viewer) Outputs(ctx context.Context, user, id string, rank int) (outputs.Record, error) {
	r, _, err := v.OutputRecord(ctx, id)
	if r != nil && r.Submit.User != user || r == nil && err != nil && !v.owns(user, id) {
		return outputs.Record{}, task.ErrNoTask(id)
	}
	if err != nil {
		return outputs.Record{}, err
	}
	if rank >= r.NumNodes() {
		return outputs.Record{}, problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has %d nodes; the first one is node 0", id, r.NumNodes()))
	}
	stored := outputs.Of(r.Outputs, rank)
	switch {
	case stored.Object != "":
		return stored, nil
	case stored.Error != "":
		return stored, problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has no outputs of node %d: %s", id, rank, stored.Error))
	case len(stored.Missing) > 0:
		return stored, problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has no outputs of node %d: none of the paths existed", id, rank))
	}
	return stored, problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has no outputs of node %d; a node sends them when its scripts have ended", id, rank))
}

func (v *Viewer) owns(user, id string) bool {
	owner, ok := v.projection.Owner(task.Key{Kind: task.KindTask, ID: id})
	return ok && owner == user
}
