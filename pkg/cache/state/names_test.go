package state

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestASecondVolumeOfANameIsWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []task.Command
		warned bool
	}{
		{"there is none", nil, false},
		{"there is one", history(create("ann", "1", "data")), true},
		{"another user has one", history(create("bob", "1", "data")), false},
		{"there is one of another name", history(create("ann", "1", "other")), false},
		{"the only one was deleted", history(create("ann", "1", "data"), remove("ann", "1")), false},
		{"the only one was deleted and is gone", history(create("ann", "1", "data"), remove("ann", "1"), gone(volumeKey("1"))), false},
		{"one of two was deleted", history(create("ann", "1", "data"), create("ann", "2", "data"), remove("ann", "1")), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, _ := newTestState(t, tt.before...).fold(create("ann", "3", "data"))
			if warned := len(result.Warnings) > 0; warned != tt.warned || result.Rejection != "" {
				t.Errorf("verdict %+v", result)
			}
		})
	}
}
