package cache

import (
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// A sortedByName holds values sorted by name. Most tasks have one Job and one pod, for which a
// map would take more memory.
type sortedByName[T any] []*T

func jobName(j *task.Job) string { return j.Name }
func podName(p *task.Pod) string { return p.Name }

// put adds a value, or replaces the value of the same name.
func (n *sortedByName[T]) put(value *T, name func(*T) string) {
	i, found := n.find(name(value), name)
	if found {
		(*n)[i] = value
		return
	}
	*n = slices.Insert(*n, i, value)
}

func (n *sortedByName[T]) find(wanted string, name func(*T) string) (i int, found bool) {
	return slices.BinarySearchFunc(*n, wanted, func(value *T, wanted string) int { return strings.Compare(name(value), wanted) })
}

// drop removes the value of a name and returns the value, nil if there is none.
func (n *sortedByName[T]) drop(wanted string, name func(*T) string) *T {
	i, found := n.find(wanted, name)
	if !found {
		return nil
	}
	value := (*n)[i]
	*n = slices.Delete(*n, i, i+1)
	return value
}
