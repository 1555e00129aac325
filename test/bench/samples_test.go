package main

import (
	"testing"
	"time"
)

func TestTrendsCompareThirdsAfterTheStart(t *testing.T) {
	var samples []sampled
	for i := range 40 { // a sample every 10 s; the first ten belong to the warm-up
		live := int64(100 << 20)
		if i >= 10 {
			live += int64(i) << 21
		}
		samples = append(samples, sampled{
			At: float64(10 * i), Submitted: int64(i + 3), Created: int64(i), Live: live, RSS: 200 << 20, Log: int64(40-i) << 20,
			P50: time.Duration(100+i) * time.Microsecond, P99: time.Duration(i) * time.Millisecond,
		})
	}
	flat := map[string]bool{}
	all := trends(samples, 100*time.Second)
	for _, one := range all {
		flat[one.Name] = one.Flat
	}
	want := map[string]bool{"heap in use": false, "resident memory": true, "log": true, "status p50": true, "status p99": false, "tasks that wait": true}
	for name, want := range want {
		if got, there := flat[name]; !there || got != want {
			t.Errorf("%s is flat: %v, want %v (%+v)", name, got, want, all)
		}
	}
	if got := trends(samples[:2], 0); got != nil {
		t.Errorf("two samples make trends: %+v", got)
	}
}
