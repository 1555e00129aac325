package groups

import (
	"cmp"
	"slices"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
)

// chunk is how many groups are visited under one lock.
const chunk = 1024

// A Selection is the page of a list of groups, newest first, while it is selected.
type Selection struct {
	Query  task.Query
	Groups []group.Group
	Next   uint64 // cursor of the next page; may be 0

	last uint64 // position of the last of Groups
}

// Select visits the next groups, adds those that match the query, and reports whether there is
// more to visit. The index may change between two calls.
func (i *Index[T]) Select(s *Selection) (more bool) {
	q, rest := &s.Query, i.groupsOf(s.Query.User, s.Query.AllUsers)
	if q.Before > 0 {
		end, _ := slices.BinarySearchFunc(rest, q.Before, func(g *Group[T], before uint64) int { return cmp.Compare(g.order, before) })
		rest = rest[:end]
	}
	first := max(len(rest)-chunk, 0)
	for _, g := range slices.Backward(rest[first:]) {
		d := g.Describe()
		switch {
		case q.Name != "" && q.Name != d.Name, q.Phase != "" && q.Phase != d.Phase:
		case q.Limit > 0 && len(s.Groups) == q.Limit:
			s.Next = s.last
			return false
		default:
			s.Groups, s.last = append(s.Groups, d), g.order
		}
		q.Before = g.order
	}
	return first > 0
}
