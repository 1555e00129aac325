package taskfile

import (
	"fmt"
	"slices"

	"k8s-cli/pkg/task"
)

// Limits of a tree. They are far beyond what people write and keep what others
// send from costing more than a few milliseconds.
const (
	maxNodes   = 10_000 // values and keys of one text
	maxDepth   = 32     // values inside values
	maxAliased = 500    // of the nodes, those that stand there by a YAML alias; their texts are at most MaxSize
)

// A node is one value, whichever language it was written in: aliases and merges
// are resolved, keys are texts, no key stands there twice.
type node struct {
	kind    kind
	line    int      // in the YAML file, from 1; 0 for JSON
	text    string   // of a scalar, as it was written
	items   []*node  // of a list
	members []member // of a mapping, in the order of the file
}

// A member is one key of a mapping with its value.
type member struct {
	key   string
	line  int
	value *node
}

type kind int

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"null", "a single value", "a list", "a mapping"}[k]
}

// size returns how many values and keys n holds, itself included.
func (n *node) size() int {
	total := 1
	for _, item := range n.items {
		total += item.size()
	}
	for _, m := range n.members {
		total += 1 + m.value.size()
	}
	return total
}

// has reports whether n has a member of this key that asks for something.
func (n *node) has(key string) bool {
	return slices.ContainsFunc(n.members, func(m member) bool { return m.key == key && m.value.isSet() })
}

// isSet reports whether n says anything that could be honoured: null, false, an
// empty text and an empty collection do not.
func (n *node) isSet() bool {
	switch n.kind {
	case scalar:
		on, isBool := truth(n.text)
		return n.text != "" && (on || !isBool)
	case list, mapping:
		return len(n.items)+len(n.members) > 0
	}
	return false
}

// A builder makes the nodes of one tree and counts them.
type builder struct {
	fieldPath
	nodes   int
	aliased int
	copied  int // bytes of their texts
	within  int // aliases around the node being built
}

// grow makes room for one more node with its text at depth.
func (b *builder) grow(depth int, text string) error {
	b.nodes++
	if b.within > 0 {
		b.aliased++
		b.copied += len(text)
	}
	switch {
	case depth > maxDepth:
		return b.wrong("values are nested more than %d deep", maxDepth)
	case b.aliased > maxAliased:
		return b.wrong("aliases repeat more than %d values", maxAliased)
	case b.copied > MaxSize:
		return b.tooLarge("aliases repeat more than %d bytes", MaxSize)
	case b.nodes > maxNodes:
		return task.Error(task.ErrTooLarge, fmt.Sprintf("more than %d values; write fewer", maxNodes))
	}
	return nil
}

// A keySet knows the keys of one mapping by the line they stand in.
type keySet map[string]int

// add refuses a key that stands there twice.
func (s keySet) add(b *builder, key string, line int) error {
	first, twice := s[key]
	s[key] = line
	switch {
	case !twice:
		return nil
	case line == 0:
		return b.wrong("duplicate key")
	default:
		return b.wrong("duplicate key, first in line %d", first)
	}
}
