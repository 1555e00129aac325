// Package sorted changes sorted slices with few moves of elements.
package sorted

import "slices"

// Insert returns all with one at its sorted position, where it replaces an equal element.
func Insert[T any](all []*T, one *T, compare func(a, b *T) int) []*T {
	i, found := slices.BinarySearchFunc(all, one, compare)
	if found {
		all[i] = one
		return all
	}
	return slices.Insert(all, i, one)
}

// DeleteAt returns all without the element at i. DeleteAt moves the shorter side, because most
// deletions concern the oldest elements.
func DeleteAt[T any](all []*T, i int) []*T {
	if i >= len(all)/2 {
		return slices.Delete(all, i, i+1)
	}
	copy(all[1:i+1], all[:i])
	all[0] = nil
	return all[1:]
}

// Remove returns all without the elements of some. all must be sorted. Elements of some that
// are not in all are ignored.
func Remove[T any](all, some []T, compare func(a, b T) int) []T {
	return without(all, positions(all, some, compare))
}

// positions returns the indexes in all of the elements of some, in ascending order.
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
