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
