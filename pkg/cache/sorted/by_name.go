package sorted

import (
	"slices"
	"strings"
)

// A ByName holds values sorted by name. Most tasks have one Job and one pod, for which a
// map would take more memory.
type ByName[T any] []*T

// Set adds a value, or replaces the value of the same name.
func (b *ByName[T]) Set(value *T, name func(*T) string) {
	i, found := b.find(name(value), name)
	if found {
		(*b)[i] = value
		return
	}
	*b = slices.Insert(*b, i, value)
}

func (b *ByName[T]) find(wanted string, name func(*T) string) (i int, found bool) {
	return slices.BinarySearchFunc(*b, wanted, func(value *T, wanted string) int { return strings.Compare(name(value), wanted) })
}

// Drop removes the value of a name and returns the value or nil.
func (b *ByName[T]) Drop(wanted string, name func(*T) string) *T {
	i, found := b.find(wanted, name)
	if !found {
		return nil
	}
	value := (*b)[i]
	*b = slices.Delete(*b, i, i+1)
	return value
}
