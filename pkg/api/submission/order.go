package submission

import (
	"fmt"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Order returns the indexes of the items of a batch in an order in which each item comes after
// the items that it names. keys holds the idempotency key of each item, and after the names of
// its predecessors; names that are no key of the batch do not matter. Items without such names
// keep their order. The error is of kind problem.Invalid if items name each other in a circle.
func Order(keys []string, after [][]string) ([]int, error) {
	byKey := make(map[string]int, len(keys))
	for i, key := range keys {
		if _, twice := byKey[key]; key != "" && !twice {
			byKey[key] = i
		}
	}
	s := sorter{byKey: byKey, after: after, state: make([]visit, len(keys)), order: make([]int, 0, len(keys))}
	for i := range keys {
		if circle := s.add(i, nil); circle != nil {
			return nil, problem.New(problem.Invalid, "after: "+describeCircle(circle, keys))
		}
	}
	return s.order, nil
}

// A visit is the state of an item during the depth-first search.
type visit uint8

const (
	unseen visit = iota
	open
	done
)

type sorter struct {
	byKey map[string]int
	after [][]string
	state []visit
	order []int
}

// add adds an item after its predecessors. path holds the items that wait for the item. add
// returns the items of a circle, or nil.
func (s *sorter) add(i int, path []int) (circle []int) {
	switch path = append(path, i); s.state[i] {
	case done:
		return nil
	case open:
		return path[slices.Index(path, i):]
	}
	s.state[i] = open
	for _, name := range s.after[i] {
		if before, ok := s.byKey[name]; ok {
			if circle := s.add(before, path); circle != nil {
				return circle
			}
		}
	}
	s.state[i] = done
	s.order = append(s.order, i)
	return nil
}

const shownInCircle = 5

// describeCircle names the items of a circle, whose first item is also the last.
func describeCircle(circle []int, keys []string) string {
	if len(circle) == 2 {
		return fmt.Sprintf("task %s comes after itself; remove the name", task.Quote(keys[circle[0]]))
	}
	names := make([]string, 0, shownInCircle+1)
	for _, i := range circle[:min(len(circle)-1, shownInCircle)] {
		names = append(names, task.Quote(keys[i]))
	}
	if len(circle)-1 > shownInCircle {
		names = append(names, fmt.Sprintf("%d more", len(circle)-1-shownInCircle))
	}
	return "the tasks " + strings.Join(names, ", ") + " wait for each other in a circle; remove one of the names"
}
