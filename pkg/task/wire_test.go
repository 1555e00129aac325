package task

import (
	"errors"
	"strings"
	"testing"

	"k8s-cli/pkg/task/problem"
)

func TestErrorsOfUnknownIDs(t *testing.T) {
	for err, want := range map[error]string{
		ErrNoTask("ab12cd34"):                "Task ab12cd34 not found",
		ErrNoVolume("1a2b3c4d"):              "Volume 1a2b3c4d not found",
		ErrNoTask(strings.Repeat("a", 63)):   "Task " + strings.Repeat("a", 63) + " not found",
		ErrNoVolume(strings.Repeat("a", 64)): "Volume " + strings.Repeat("a", 63) + "... not found",
	} {
		if err.Error() != want || !errors.Is(err, problem.NotFound) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAnswerToAnUpload(t *testing.T) {
	raw, err := Marshal(NewUploaded("s", 7))
	if want := `{"sha256":"s","size":7,"status":"stored","message":"Upload s stored"}`; err != nil || string(raw) != want {
		t.Errorf("%v\n got %s\nwant %s", err, raw, want)
	}
}
