package main

import (
	"strings"
	"testing"
	"time"
)

func TestFigureIsJudgedByItsMedians(t *testing.T) {
	for _, tt := range []struct {
		name   string
		figure figure
		ratio  float64
		wanted string
	}{
		{"at least, kept", figure{OursRounds: []float64{70, 80, 75}, BareRounds: []float64{100, 90, 300}, Want: 0.75}, 0.75, "≥ 0.75"},
		{"at least, missed", figure{OursRounds: []float64{70, 74, 75}, BareRounds: []float64{100}, Want: 0.75}, 0.74, "≥ 0.75 MISSED"},
		{"at most, kept", figure{OursRounds: []float64{3, 2}, BareRounds: []float64{2}, Want: 1.5, AtMost: true}, 1.25, "≤ 1.50"},
		{"at most, missed", figure{OursRounds: []float64{4}, BareRounds: []float64{2}, Want: 1.5, AtMost: true}, 2, "≤ 1.50 MISSED"},
		{"a bound without a baseline", figure{Ours: 5.5, Unit: "s", Want: 5, AtMost: true}, 0, "≤ 5.00 s MISSED"},
		{"a bound of nothing, missed", figure{Ours: 2, Unit: " requests", AtMost: true}, 0, "≤ 0 requests MISSED"},
		{"a bound of nothing, kept", figure{Unit: " requests", AtMost: true}, 0, "≤ 0 requests"},
		{"no bound", figure{Ours: 5, Bare: 10}, 0.5, ""},
		{"what failed is not judged", figure{Failure: "it broke", Want: 1}, 0, "FAILED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.figure
			f.settle()
			if f.Ratio != tt.ratio || f.wanted() != tt.wanted {
				t.Errorf("ratio %v, wanted %q; want %v, %q", f.Ratio, f.wanted(), tt.ratio, tt.wanted)
			}
		})
	}
}

func TestTableShowsWhatWasMissed(t *testing.T) {
	f := &figure{
		Key: "status", Name: "GET", Unit: "/s", OursRounds: []float64{50_000}, BareRounds: []float64{100_000}, Want: 0.75, Note: "a remark",
		Latency: &quantiles{P50: 310 * time.Microsecond, P99: 2 * time.Millisecond}, PerRequest: &cost{CPU: 12.34, Allocated: 2048},
	}
	f.settle()
	var b strings.Builder
	print(&b, []*figure{f})
	for _, want := range []string{"50,000/s", "100,000/s", "0.50", "≥ 0.75 MISSED", "310 µs / 2.00 ms", "12.3 µs, 2048 B", "status: a remark"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}
