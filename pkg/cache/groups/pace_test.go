package groups

import (
	"math/rand/v2"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// paceOf returns the pace of a run of tasks that take a time each and run side by side, after some
// of them have ended.
func paceOf(ended, width int, each time.Duration) (p pace, last time.Time) {
	for n := range ended {
		started := noon.Add(time.Duration(n/width) * each)
		last = started.Add(each)
		p.add(end{uint64(n + 1), uint64(n + 1), started, last})
	}
	return p, last
}

func TestEstimates(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		ended, width, remains int
		each                  time.Duration
		started               time.Time
		wants                 time.Duration // after the last end; 0 if there is no estimate
	}{
		{"one after the other", 10, 1, 90, time.Minute, noon, 90 * time.Minute},
		{"waves of tasks that end together", 200, 100, 800, time.Hour, noon, 8 * time.Hour},
		{"the first wave", 100, 100, 900, time.Hour, noon, 9 * time.Hour},
		{"new tasks after a week", 10, 1, 90, time.Minute, noon.Add(-7 * 24 * time.Hour), 90 * time.Minute},
		{"too few ends", 4, 1, 90, time.Minute, noon, 0},
		{"nothing remains", 10, 1, 0, time.Minute, noon, 0},
		{"tasks without a duration", 10, 1, 5, 0, noon, 0},
		{"no start is known", 10, 1, 5, time.Minute, time.Time{}, 0},
		{"further than a decade", 10, 1, 1_000_000, 100 * time.Hour, noon, 0},
	} {
		p, last := paceOf(tt.ended, tt.width, tt.each)
		got := p.estimate(tt.remains, tt.ended, tt.started)
		switch {
		case tt.wants == 0 && !got.IsZero():
			t.Errorf("%s: %s", tt.name, got)
		case tt.wants > 0 && got.Sub(last) != tt.wants:
			t.Errorf("%s: %s after the last end, want %s", tt.name, got.Sub(last), tt.wants)
		}
	}
}

// A pace holds the latest ends in the order of the log, in whatever order they are added.
func TestAPaceHoldsTheLatestEnds(t *testing.T) {
	var all []end
	for n := range 3 * maxEnds {
		all = append(all, end{uint64(n/2 + 1), uint64(n + 1), noon, noon.Add(time.Duration(n) * time.Second)})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var p pace
		for _, e := range append(all, all...) {
			p.add(e)
		}
		if len(p) != maxEnds {
			t.Fatalf("%d ends", len(p))
		}
		for i, e := range p {
			if want := uint64(2*maxEnds + i + 1); e.order != want {
				t.Fatalf("end %d has the order %d, want %d", i, e.order, want)
			}
		}
	}
}
