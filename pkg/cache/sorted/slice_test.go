package sorted

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for size := range 40 {
		for range 50 {
			all, at, want := make([]*int, size), []int{}, []int{}
			for i := range all {
				if all[i] = new(i); random.IntN(3) == 0 {
					at = append(at, i)
				} else {
					want = append(want, i)
				}
			}
			var got []int
			left := without(slices.Clone(all), at)
			for _, p := range left {
				got = append(got, *p)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d without %d: %d, want %d", size, at, got, want)
			}
		}
	}
}

// without moves the elements before the removed ones or those behind them, whichever are
// fewer. The other side stays in place.
func TestWithoutMovesTheShorterSide(t *testing.T) {
	for _, tt := range []struct {
		at    []int
		stays int // an element that must not move
	}{
		{[]int{0}, 1}, {[]int{1, 2, 3}, 4}, {[]int{2, 4}, 99}, {[]int{97, 99}, 0}, {[]int{96, 98}, 95},
	} {
		all := make([]*int, 100)
		for i := range all {
			all[i] = new(i)
		}
		place := &all[tt.stays]
		left := without(all, tt.at)
		i := slices.IndexFunc(left, func(p *int) bool { return *p == tt.stays })
		if i < 0 || &left[i] != place {
			t.Errorf("without %d the element %d has moved", tt.at, tt.stays)
		}
	}
}
