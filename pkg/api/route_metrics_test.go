package api

import (
	"testing"
	"time"
)

func TestRouteMetrics(t *testing.T) {
	var m routeMetrics
	for _, took := range []time.Duration{0, 100 * time.Microsecond, 101 * time.Microsecond, 10 * time.Second, time.Hour} {
		m.add(200, took)
	}
	m.add(299, time.Millisecond)
	if m.buckets[0].Load() != 2 || m.buckets[1].Load() != 1 || m.buckets[len(buckets)-1].Load() != 1 || m.buckets[len(buckets)].Load() != 1 {
		t.Errorf("buckets %v", m.buckets[:])
	}
	if m.codes[0].Load() != 1 || m.codes[2].Load() != 5 {
		t.Errorf("codes %v", m.codes[:])
	}
	if allocs := testing.AllocsPerRun(100, func() { m.add(200, time.Millisecond) }); allocs != 0 {
		t.Errorf("a request costs %g allocations", allocs)
	}
}
