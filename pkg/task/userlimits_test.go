package task

import (
	"errors"
	"testing"
	"time"

	"k8s-cli/pkg/task/problem"
)

func TestLimitsOfAUser(t *testing.T) {
	err := ErrLimit(3*time.Second, "%d are too many", 7)
	var later interface{ RetryAfter() time.Duration }
	if err.Error() != "7 are too many" || !errors.Is(err, problem.LimitReached) || !errors.As(err, &later) || later.RetryAfter() != 3*time.Second {
		t.Errorf("error %v", err)
	}
}

func TestLimitsOfJobs(t *testing.T) {
	limits := JobLimits{Total: 4, PerUser: 2}
	for nodes, want := range map[int]string{
		2: "",
		3: "the task has 3 nodes, one Job each, but at most 2 Jobs of one user may exist at once (--max-active-jobs-per-user)",
	} {
		if got := limits.TooLarge(nodes); got != want {
			t.Errorf("%d nodes: %q, want %q", nodes, got, want)
		}
	}
	limits.PerUser = 0
	for nodes, want := range map[int]string{
		4: "", 5: "the task has 5 nodes, one Job each, but at most 4 Jobs may exist at once (--max-active-jobs)",
	} {
		if got := limits.TooLarge(nodes); got != want {
			t.Errorf("%d nodes: %q, want %q", nodes, got, want)
		}
	}
	if got := (JobLimits{}).TooLarge(1 << 20); got != "" {
		t.Errorf("no limits: %q", got)
	}
}

func TestAdministrators(t *testing.T) {
	admins := Admins{"ann", "group:ops"}
	if err := admins.Check(); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		user   string
		groups []string
		want   bool
	}{
		{"ann", nil, true},
		{"bob", []string{"dev", "ops"}, true},
		{"bob", []string{"dev"}, false},
		{"bob", []string{"ann"}, false},
		{"ops", nil, false},
		{"Ann", nil, false},
		{"group:ops", nil, false},
	} {
		if got := admins.Has(tt.user, tt.groups); got != tt.want {
			t.Errorf("%s of %q: %v, want %v", tt.user, tt.groups, got, tt.want)
		}
	}
	for _, name := range []string{"", "group:", "a\n", "group:a\n"} {
		if err := (Admins{"ann", name}).Check(); err == nil {
			t.Errorf("%q is an administrator", name)
		}
	}
}
