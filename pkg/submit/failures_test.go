package submit

import (
	"errors"
	"fmt"
	"testing"

	"k8s-cli/pkg/task/problem"
)

func TestExpectedFailures(t *testing.T) {
	for err, want := range map[error]bool{
		errDeletionPending: true, errYielded: true, problem.Unavailable: true, errors.New("refused"): false, problem.Conflict: false,
	} {
		if got := expected(fmt.Errorf("reconcile: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
