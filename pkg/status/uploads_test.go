package status

import (
	"errors"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func TestUploads(t *testing.T) {
	l, sum := newTestLog(t), strings.Repeat("5", 64)
	l.fold(task.Command{Upload: &task.Upload{User: "ann", Sum: sum, Object: "o", Size: 7}})
	l.fold(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Task: task.Spec{Run: "true", Uploads: map[string]string{"/data": sum}}}})
	l.submit("ann", "b")
	r := l.read()
	if got, err := r.Upload("ann", sum); err != nil || got.Object != "o" || got.Size != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.TaskUpload("a", sum); err != nil || got.Object != "o" {
		t.Errorf("of a task: %+v, %v", got, err)
	}
	if _, err := r.Upload("bob", sum); !errors.Is(err, problem.NotFound) || err.Error() != "Upload "+task.Quote(sum)+" not found" {
		t.Errorf("another user's: %v", err)
	}
	if _, err := r.TaskUpload("b", sum); !errors.Is(err, problem.NotFound) || err.Error() != "Task b needs no upload "+task.Quote(sum)+", or has ended" {
		t.Errorf("another task's: %v", err)
	}
}
