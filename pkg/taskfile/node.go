package taskfile

import (
	"fmt"
	"slices"

	"k8s-cli/pkg/task/problem"
)

// Limits of a tree. The limits are far larger than real files need, and bound the time to
// parse a malicious file to a few milliseconds.
const (
	maxNodes = 10_000 // values and keys of one text
	maxDepth = 32     // nesting depth of values
	// Nodes that exist because of YAML aliases. The texts of these nodes have at most
	// MaxSize bytes.
	maxAliased = 500
)

// A node is one value in YAML or JSON: aliases and merges are resolved, keys are texts, and
// there are no duplicate keys.
type node struct {
	kind    kind
	line    int      // line in the YAML file, from 1; 0 for JSON
	text    string   // text of a scalar, as written
	items   []*node  // items of a list
	members []member // members of a mapping, in the order of the file
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

// size returns the number of values and keys in n, n included.
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

// member returns the member of n with this key, which n has.
func (n *node) member(key string) member {
	return n.members[slices.IndexFunc(n.members, func(m member) bool { return m.key == key })]
}

// has reports whether n has a member with this key whose value is set.
func (n *node) has(key string) bool {
	return slices.ContainsFunc(n.members, func(m member) bool { return m.key == key && m.value.isSet() })
}

// isSet reports whether n has a value that could be honoured. Null, false, an empty text
// and an empty collection are not set.
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

// A builder creates and counts the nodes of one tree.
type builder struct {
	fieldPath
	nodes   int
	aliased int
	copied  int // bytes of the texts of aliased nodes
	within  int // number of aliases around the current node

	twice duplicates // the duplicate keys so far
}

// duplicates are the errors about all duplicate keys of a text.
type duplicates []error

func (d duplicates) Error() string { return d[0].Error() }

// Unwrap returns the first error.
func (d duplicates) Unwrap() error { return d[0] }

// grow counts one more node with its text at depth, and returns an error if a limit is
// exceeded.
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
		return problem.New(problem.TooLarge, fmt.Sprintf("more than %d values; write fewer", maxNodes))
	}
	return nil
}

// A keySet maps the keys of one mapping to their lines.
type keySet map[string]int

// add adds a key, which may be a duplicate.
func (s keySet) add(b *builder, key string, line int) {
	first, twice := s[key]
	switch {
	case !twice:
		s[key] = line
	case line == 0:
		b.twice = append(b.twice, b.wrong("duplicate key; remove one of them"))
	default:
		b.twice = append(b.twice, b.wrong("duplicate key, first in line %d; remove one of them", first))
	}
}
