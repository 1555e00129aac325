package task

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestLimitsOfAUser(t *testing.T) {
	err := ErrLimit(3*time.Second, "%d are too many", 7)
	var later interface{ RetryAfter() time.Duration }
	if err.Error() != "7 are too many" || !errors.Is(err, ErrTooMany) || !errors.As(err, &later) || later.RetryAfter() != 3*time.Second {
		t.Errorf("error %v", err)
	}
	usage := Usage{Active: 1, Waiting: 2, LogStreams: 3, UploadBytes: 1 << 20}
	if got := (UserLimits{Nodes: 9, SubmitBurst: 9}).Sentences(usage); len(got) > 0 {
		t.Errorf("sentences without limits: %q", got)
	}
	got := UserLimits{Active: 10, Waiting: 20, SubmitRate: 0.5, SubmitBurst: 30, LogStreams: 40, UploadBytes: 1 << 30}.Sentences(usage)
	want := []string{
		"10 active tasks (1 in use)",
		"20 tasks without Jobs (2 in use)",
		"0.5 submissions per second, bursts of up to 30",
		"40 log streams (3 open)",
		"1Gi of uploads (1Mi in use)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sentences\n got %q\nwant %q", got, want)
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

func TestASentenceForTheSmallestLimit(t *testing.T) {
	for i, l := range []UserLimits{{Active: 1}, {Waiting: 1}, {SubmitRate: 0.1}, {LogStreams: 1}, {UploadBytes: 1}} {
		if got := l.Sentences(Usage{}); len(got) != 1 {
			t.Errorf("limit %d: %q", i, got)
		}
	}
}
