package task

import "k8s-cli/pkg/task/problem"

// ErrNoTask returns the error for a task that the user does not have.
func ErrNoTask(id string) error {
	return problem.New(problem.TaskNotFound, "Task "+cutID(id)+" not found")
}

// ErrNoVolume returns the error for a volume that the user does not have.
func ErrNoVolume(id string) error {
	return problem.New(problem.VolumeNotFound, "Volume "+cutID(id)+" not found")
}

// cutID shortens an id from a request, so that a long text does not fill the response.
func cutID(id string) string {
	if len(id) > maxLabel {
		return id[:maxLabel] + "..."
	}
	return id
}
