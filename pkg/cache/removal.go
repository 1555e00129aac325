package cache

import "slices"

// positions returns where in all, which is sorted, the elements of some are, in
// ascending order. Those that are not there have no position.
func positions[T any](all, some []T, compare func(a, b T) int) (at []int) {
	for _, one := range some {
		if i, found := slices.BinarySearchFunc(all, one, compare); found {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// without returns all without the elements at these positions, in one pass over
// whichever side of them is shorter. The oldest, which are the usual ones, go
// without moving the others.
func without[T any](all []T, at []int) []T {
	if len(at) == 0 {
		return all
	}
	first, last := at[0], at[len(at)-1]
	if before, behind := last+1-len(at), len(all)-first-len(at); before > behind {
		to := first
		for i, from := range at {
			end := len(all)
			if i+1 < len(at) {
				end = at[i+1]
			}
			to += copy(all[to:], all[from+1:end])
		}
		clear(all[to:])
		return all[:to]
	}
	to := last + 1
	for i, from := range slices.Backward(at) {
		begin := 0
		if i > 0 {
			begin = at[i-1] + 1
		}
		to -= copy(all[to-(from-begin):to], all[begin:from])
	}
	clear(all[:to])
	return all[to:]
}
