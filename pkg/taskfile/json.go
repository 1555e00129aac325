package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// fromJSON decodes the one value of a body, token by token: numbers stay as
// written and keys that stand there twice are seen.
func fromJSON(data []byte) (*node, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, unreadable("the body is empty")
	}
	b := jsonBuilder{tokens: json.NewDecoder(bytes.NewReader(data))}
	b.tokens.UseNumber()
	root, err := b.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := b.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, unreadable("the body is not JSON: something follows the first value")
	}
	if b.replaced > bytes.Count(data, []byte("\uFFFD"))+bytes.Count(bytes.ToLower(data), []byte(`\ufffd`)) {
		return nil, unreadable(`the body is not Unicode: a \u escape is half of a character`)
	}
	return root, nil
}

// A jsonBuilder turns tokens into a tree.
type jsonBuilder struct {
	builder
	tokens   *json.Decoder
	replaced int // U+FFFD seen, which encoding/json also puts where an escape is broken
}

func (b *jsonBuilder) value(depth int) (*node, error) {
	if err := b.grow(depth, ""); err != nil {
		return nil, err
	}
	token, err := b.token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return b.collection(t, depth)
	case bool:
		return &node{kind: scalar, text: map[bool]string{true: "true", false: "false"}[t]}, nil
	case json.Number:
		return &node{kind: scalar, text: t.String()}, nil
	case string:
		return &node{kind: scalar, text: t}, nil
	default:
		return &node{kind: null}, nil
	}
}

// collection reads what follows open, up to its end.
func (b *jsonBuilder) collection(open json.Delim, depth int) (*node, error) {
	n := &node{kind: list}
	if open == '{' {
		n.kind = mapping
	}
	keys := keySet{}
	for b.tokens.More() {
		var err error
		if n.kind == list {
			err = b.item(n, depth)
		} else {
			err = b.member(n, keys, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := b.token()
	return n, err
}

func (b *jsonBuilder) item(n *node, depth int) error {
	value, err := b.value(depth + 1)
	n.items = append(n.items, value)
	return err
}

func (b *jsonBuilder) member(n *node, keys keySet, depth int) error {
	token, err := b.token()
	if err != nil {
		return err
	}
	key, _ := token.(string) // the decoder takes nothing else for a key
	b.push(key, 0)
	defer b.pop()
	if err := keys.add(&b.builder, key, 0); err != nil {
		return err
	}
	value, err := b.value(depth + 1)
	n.members = append(n.members, member{key: key, value: value})
	return err
}

func (b *jsonBuilder) token() (json.Token, error) {
	token, err := b.tokens.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, unreadable("the body is not JSON: it ends too early")
	case err != nil:
		return nil, unreadable("the body is not JSON: %v", err)
	}
	if s, ok := token.(string); ok {
		b.replaced += strings.Count(s, "\uFFFD")
	}
	return token, nil
}
