package submit

import (
	"errors"
	"fmt"
	"testing"

	"k8s-cli/pkg/task"
)

func TestWhichFailuresAreNoNews(t *testing.T) {
	for err, want := range map[error]bool{
		errDeletionPending: true, errYielded: true, task.ErrUnavailable: true, errors.New("refused"): false, task.ErrConflict: false,
	} {
		if got := expected(fmt.Errorf("reconcile: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
