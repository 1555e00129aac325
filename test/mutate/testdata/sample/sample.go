// Package sample is mutated by the test of mutate.
package sample

import "errors"

var errFull = errors.New("full")

func add(sum, n, most int) (int, error) {
	if sum+n > most {
		return sum, errFull
	}
	return sum + n, nil
}

func reset(n *int) { clear([]int{*n}) }

func wait(done, yes bool) {
	for !done {
		done = yes
	}
}

func (list[T]) join(a, _ string, more ...string) string { return a + more[0] }

type list[T any] []T
