package cache

import "slices"

// positions returns the indexes in all of the elements of some, in ascending order. all must
// be sorted. Elements of some that are not in all are ignored.
func positions[T any](all, some []T, compare func(a, b T) int) (at []int) {
	for _, one := range some {
		if i, found := slices.BinarySearchFunc(all, one, compare); found {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// without returns all without the elements at these indexes, in one pass over the shorter
// side. Most removals concern the oldest elements, which are removed without moving the
// others.
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
