package sorted

import (
	"slices"
	"strings"
)

// A ByName holds values sorted by name. Most tasks have one Job and one pod, for which a
// map would take more memory.
type ByName[T any] []*T

// Set adds a value, or replaces the value of the same name.
func (n *ByName[T]) Set(value *T, name func(*T) string) {
	i, found := n.find(name(value), name)
	if found {
		(*n)[i] = value
		return
	}
	*n = slices.Insert(*n, i, value)
}

func (n *ByName[T]) find(wanted string, name func(*T) string) (i int, found bool) {
	return slices.BinarySearchFunc(*n, wanted, func(value *T, wanted string) int { return strings.Compare(name(value), wanted) })
}

// Drop removes the value of a name and returns the value or nil.
func (n *ByName[T]) Drop(wanted string, name func(*T) string) *T {
	i, found := n.find(wanted, name)
	if !found {
		return nil
	}
	value := (*n)[i]
	*n = slices.Delete(*n, i, i+1)
	return value
}
