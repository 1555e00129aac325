package taskfile

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// fromJSON decodes the single value of a body, token by token. Numbers stay as written, and
// duplicate keys are errors.
func fromJSON(data []byte) (*node, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, unreadable("the body is empty")
	}
	decoder, _ := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(decoder)
	decoder.Reset(bytes.NewBuffer(data))
	b := jsonBuilder{tokens: decoder}
	root, err := b.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := b.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, unreadable("the body is not valid JSON: unexpected data after the first value")
	}
	return root, nil
}

// decoders reuses decoders, which need memory to find duplicate keys.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// A jsonBuilder turns tokens into a tree.
type jsonBuilder struct {
	builder
	tokens *jsontext.Decoder
}

func (b *jsonBuilder) value(depth int) (*node, error) {
	if err := b.grow(depth, ""); err != nil {
		return nil, err
	}
	token, err := b.token()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		return b.collection(token.Kind(), depth)
	case jsontext.KindNull:
		return &node{kind: null}, nil
	default:
		return &node{kind: scalar, text: token.String()}, nil
	}
}

// collection reads the rest of an object or an array after the opening bracket.
func (b *jsonBuilder) collection(open jsontext.Kind, depth int) (*node, error) {
	n, end, next := &node{kind: list}, jsontext.KindEndArray, b.item
	if open == jsontext.KindBeginObject {
		n.kind, end, next = mapping, jsontext.KindEndObject, b.member
	}
	for b.tokens.PeekKind() != end {
		if err := next(n, depth); err != nil {
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

func (b *jsonBuilder) member(n *node, depth int) error {
	token, err := b.token()
	if err != nil {
		return err
	}
	key := token.String()
	b.push(key, 0)
	defer b.pop()
	value, err := b.value(depth + 1)
	n.members = append(n.members, member{key: key, value: value})
	return err
}

func (b *jsonBuilder) token() (jsontext.Token, error) {
	token, err := b.tokens.ReadToken()
	if err == nil {
		return token, nil
	}
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return token, unreadable("the body is not valid JSON: unexpected end of input")
	case errors.Is(err, jsontext.ErrDuplicateName):
		b.push(wrong.JSONPointer.LastToken(), 0)
		defer b.pop()
		return token, b.wrong("duplicate key")
	case ok:
		return token, unreadable("the body is not valid JSON: %v", wrong.Err)
	}
	return token, unreadable("the body is not valid JSON: %v", err)
}
