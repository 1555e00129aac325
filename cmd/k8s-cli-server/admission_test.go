package main

import (
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

func TestLimitsOfAdmission(t *testing.T) {
	for _, tt := range []struct {
		args string
		want task.AdmissionLimits
	}{
		{"", task.AdmissionLimits{JobLimits: task.JobLimits{Total: 20000, PerUser: 18000}, Unschedulable: 1000}},
		{"--max-active-jobs=5", task.AdmissionLimits{JobLimits: task.JobLimits{Total: 5, PerUser: 4}, Unschedulable: 1000}},
		{"--max-active-jobs=1", task.AdmissionLimits{JobLimits: task.JobLimits{Total: 1, PerUser: 1}, Unschedulable: 1000}},
		{"--max-active-jobs=50 --max-active-jobs-per-user=50", task.AdmissionLimits{JobLimits: task.JobLimits{Total: 50, PerUser: 50}, Unschedulable: 1000}},
		{"--max-active-jobs=0 --max-unschedulable-pods=0", task.AdmissionLimits{}},
		{"--max-active-jobs=0 --max-active-jobs-per-user=7", task.AdmissionLimits{JobLimits: task.JobLimits{PerUser: 7}, Unschedulable: 1000}},
	} {
		c, err := parse(nil, strings.Fields(tt.args)...)
		if got := c.admission.limits(); err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v, want %+v", tt.args, got, err, tt.want)
		}
	}
}
