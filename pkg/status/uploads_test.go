package status

import (
	"errors"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func TestUploads(t *testing.T) {
	stored := task.UploadRecord{Upload: task.Upload{User: "of a", Sum: "x", Object: "o", Size: 7}}
	s := &fakeProjection{upload: &stored}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	if got, err := v.Upload(t.Context(), "of a", "x"); err != nil || got != stored {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := v.TaskUpload(t.Context(), "a", "x"); err != nil || got != stored {
		t.Errorf("of a task: %+v, %v", got, err)
	}
	if _, err := v.Upload(t.Context(), "ann", "x"); !errors.Is(err, problem.NotFound) || err.Error() != `Upload "x" not found` {
		t.Errorf("another user's: %v", err)
	}
	if _, err := v.TaskUpload(t.Context(), "b", "x"); !errors.Is(err, problem.NotFound) || err.Error() != `Task b needs no upload "x", or has ended` {
		t.Errorf("another task's: %v", err)
	}
}
