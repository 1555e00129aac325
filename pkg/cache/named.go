package cache

import (
	"slices"
	"strings"
)

// Named values are kept in the order of their names. Most tasks have one Job and
// one pod, for which a map would be large.
type named[T any] []pair[T]

type pair[T any] struct {
	name  string
	value *T
}

func (n named[T]) find(name string) (i int, found bool) {
	return slices.BinarySearchFunc(n, name, func(p pair[T], name string) int { return strings.Compare(p.name, name) })
}

// put adds a value, in place of the one that has its name.
func (n *named[T]) put(name string, value *T) {
	i, found := n.find(name)
	if found {
		(*n)[i].value = value
		return
	}
	*n = slices.Insert(*n, i, pair[T]{name, value})
}

// drop removes the value of a name and returns it, nil if there is none.
func (n *named[T]) drop(name string) *T {
	i, found := n.find(name)
	if !found {
		return nil
	}
	value := (*n)[i].value
	*n = slices.Delete(*n, i, i+1)
	return value
}
