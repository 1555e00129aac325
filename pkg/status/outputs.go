package status

import (
	"fmt"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/problem"
)

var errBehind = problem.New(problem.Unavailable, "this pod of the server cannot read the end of the log, and does not know the task; try again")

// OutputRecord returns the record of a task, and the size of the stored outputs of its user. The
// error is of kind problem.NotFound if the task does not exist or has no outputs.
func (r Read) OutputRecord(id string) (record *task.Record, used int64, err error) {
	record, used, ok := r.Store.OutputRecord(id)
	switch {
	case !ok && !r.Current: // a node gives up after a 404
		return nil, 0, errBehind
	case !ok:
		return nil, 0, task.ErrNoTask(id)
	}
	if len(record.Submit.Task.Outputs) == 0 {
		return nil, 0, problem.New(problem.OutputsNotFound, "Task "+id+" has no outputs; name them under outputs in the task file")
	}
	return record, used, nil
}

// Outputs returns the stored outputs of one node of a task of user. The error is of kind
// problem.NotFound if the user has no such task, or if the server has no outputs of the node.
func (r Read) Outputs(user, id string, rank int) (outputs.Record, error) {
	record, _, err := r.OutputRecord(id)
	if record != nil && record.Submit.User != user || record == nil && err != nil && !r.owns(user, id) {
		return outputs.Record{}, task.ErrNoTask(id)
	}
	if err != nil {
		return outputs.Record{}, err
	}
	if rank >= record.NumNodes() {
		return outputs.Record{}, problem.New(problem.OutputsNotFound, fmt.Sprintf("Task %s has %d nodes; the first one is node 0", id, record.NumNodes()))
	}
	stored := outputs.Of(record.Outputs, rank)
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

func (r Read) owns(user, id string) bool {
	owner, ok := r.Store.Owner(task.Key{Kind: task.KindTask, ID: id})
	return ok && owner == user
}
