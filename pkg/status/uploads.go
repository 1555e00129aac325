package status

import (
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Upload returns an upload of user; the error is of kind problem.UploadNotFound if the
// user has no such upload.
func (r Read) Upload(user, sum string) (task.UploadRecord, error) {
	if u, ok := r.Store.Upload(user, sum); ok {
		return u, nil
	}
	return task.UploadRecord{}, problem.New(problem.UploadNotFound, "Upload "+task.Quote(sum)+" not found")
}

// TaskUpload returns an upload that a task needs; the error is of kind problem.UploadNotFound if the
// task does not need the upload or is over.
func (r Read) TaskUpload(id, sum string) (task.UploadRecord, error) {
	if u, ok := r.Store.TaskUpload(id, sum); ok {
		return u, nil
	}
	return task.UploadRecord{}, problem.New(problem.UploadNotFound, "Task "+id+" needs no upload "+task.Quote(sum)+", or has ended")
}
