package show

import (
	"slices"
	"testing"

	"k8s-cli/pkg/task"
)

func TestLimits(t *testing.T) {
	usage := task.Usage{Active: 1, Waiting: 2, LogStreams: 3, UploadBytes: 1 << 20}
	if got := Limits(task.UserLimits{Nodes: 9, SubmitBurst: 9}, usage); len(got) > 0 {
		t.Errorf("sentences without limits: %q", got)
	}
	got := Limits(task.UserLimits{Active: 10, Waiting: 20, SubmitRate: 0.5, SubmitBurst: 30, LogStreams: 40, UploadBytes: 1 << 30}, usage)
	want := []string{
		"10 active tasks (1 in use)",
		"20 tasks without Jobs (2 in use)",
		"0.5 submissions per second, bursts of up to 30",
		"40 log streams (3 open)",
		"1Gi of uploads (1.0 MiB in use)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sentences\n got %q\nwant %q", got, want)
	}
}

func TestALineForTheSmallestLimit(t *testing.T) {
	for i, l := range []task.UserLimits{{Active: 1}, {Waiting: 1}, {SubmitRate: 0.1}, {LogStreams: 1}, {UploadBytes: 1}} {
		if got := Limits(l, task.Usage{}); len(got) != 1 {
			t.Errorf("limit %d: %q", i, got)
		}
	}
}
