package taskfile

import (
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
)

// A yamlBuilder turns the tree of the library into a tree of nodes.
type yamlBuilder struct{ builder }

func (b *yamlBuilder) value(y *yaml.Node, depth int) (*node, error) {
	if y.Kind == yaml.AliasNode {
		b.within++
		defer func() { b.within-- }()
		y = y.Alias
	}
	if err := b.grow(depth, y.Value); err != nil {
		return nil, err
	}
	n := &node{line: y.Line}
	switch tag := y.ShortTag(); tag {
	case "!!null":
	case "!!str", "!!bool", "!!int", "!!float", "!!timestamp", "!!merge":
		n.kind, n.text = scalar, y.Value
	case "!!seq":
		n.kind = list
		return n, b.items(n, y, depth)
	case "!!map", "!!set":
		n.kind = mapping
		return n, b.members(n, y, depth)
	default:
		return nil, b.wrong("the YAML tag %s is not supported", task.Quote(tag))
	}
	if y.Kind != yaml.ScalarNode {
		return nil, b.wrong("the YAML tag %s does not match its value", y.ShortTag())
	}
	return n, nil
}

func (b *yamlBuilder) items(n *node, y *yaml.Node, depth int) error {
	if y.Kind != yaml.SequenceNode {
		return b.wrong("the YAML tag %s does not match its value", y.ShortTag())
	}
	for _, item := range y.Content {
		value, err := b.value(item, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, value)
	}
	return nil
}

func (b *yamlBuilder) members(n *node, y *yaml.Node, depth int) error {
	if y.Kind != yaml.MappingNode {
		return b.wrong("the YAML tag %s does not match its value", y.ShortTag())
	}
	var merged []member
	keys := keySet{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		m, err := b.member(y.Content[i], y.Content[i+1], keys, depth)
		if err != nil {
			return err
		}
		if y.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, m.value.members...)
		} else {
			n.members = append(n.members, m)
		}
	}
	for _, m := range merged { // explicit keys take precedence, then earlier merged mappings
		if _, known := keys[m.key]; !known {
			keys[m.key] = m.line
			n.members = append(n.members, m)
		}
	}
	return nil
}

func (b *yamlBuilder) member(key, value *yaml.Node, keys keySet, depth int) (m member, err error) {
	m.line = key.Line
	if m.key, err = b.key(key); err != nil {
		return m, err
	}
	b.push(m.key, m.line)
	defer b.pop()
	keys.add(&b.builder, m.key, m.line)
	m.value, err = b.value(value, depth+1)
	if err == nil && key.ShortTag() == "!!merge" {
		m.value, err = b.merge(m.value)
	}
	return m, err
}

// key returns the text of a key.
func (b *yamlBuilder) key(y *yaml.Node) (string, error) {
	if y.Kind == yaml.AliasNode {
		b.within++
		defer func() { b.within-- }()
		y = y.Alias
	}
	if err := b.grow(0, y.Value); err != nil {
		return "", err
	}
	if y.Kind != yaml.ScalarNode || y.ShortTag() == "!!null" {
		b.push("?", y.Line)
		return "", b.wrong("a key must be a single value")
	}
	return y.Value, nil
}

// merge returns the members of all mappings in the value of a << key.
func (b *yamlBuilder) merge(value *node) (*node, error) {
	sources := []*node{value}
	if value.kind == list {
		sources = value.items
	}
	all := &node{kind: mapping, line: value.line}
	for _, s := range sources {
		if s.kind != mapping {
			return nil, b.wrong("<< merges mappings, not %s", s.kind)
		}
		all.members = append(all.members, s.members...)
	}
	return all, nil
}
