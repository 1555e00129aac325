// Package show turns what the server answers into what is read: text for
// people, JSON and YAML for programs. It only writes; it asks nothing.
package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A Format is a way to present an answer. It is the value of a flag.
type Format string

// The formats.
const (
	Text Format = "table" // for people
	Wide Format = "wide"  // for people with wide screens
	JSON Format = "json"  // the server's body
	YAML Format = "yaml"  // the same
)

// Formats lists the formats by their names.
var Formats = []string{string(Text), string(Wide), string(JSON), string(YAML)}

// String returns the name of f.
func (f *Format) String() string { return string(*f) }

// Type says in the help what the flag takes.
func (f *Format) Type() string { return strings.Join(Formats, "|") }

// Set makes f the format of that name.
func (f *Format) Set(name string) error {
	if !slices.Contains(Formats, name) {
		return fmt.Errorf("want one of %s", strings.Join(Formats, ", "))
	}
	*f = Format(name)
	return nil
}

// IsData reports whether programs are to read the answer.
func (f Format) IsData() bool { return f == JSON || f == YAML }

// Data writes v with the field names of its JSON, in format f.
func Data(w io.Writer, f Format, v any) error {
	if f == YAML {
		return writeYAML(w, v)
	}
	return writeJSON(w, v, "  ")
}

// DataLine writes v as a line of JSON.
func DataLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(quoteUnsafe(b.Bytes(), JSON))
	return err
}

func writeYAML(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	node, err := yamlNode(decoder)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(node), encoder.Close()); err != nil {
		return err
	}
	_, err = w.Write(quoteUnsafe(b.Bytes(), YAML))
	return err
}

// yamlNode reads one value of JSON, with its fields in the order they have.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{}
	delim, nested := token.(json.Delim)
	if !nested {
		err := node.Encode(scalar(token))
		if text, ok := token.(string); ok && strings.ContainsFunc(text, unsafeData) {
			node.Style = yaml.DoubleQuotedStyle // which has escapes
		}
		return node, err
	}
	node.Kind = yaml.SequenceNode
	if delim == '{' {
		node.Kind = yaml.MappingNode
	}
	for d.More() { // the keys of an object are values to the decoder
		child, err := yamlNode(d)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err = d.Token()
	return node, err
}

// scalar returns what yaml has to be given for a token, numbers being text to
// the decoder.
func scalar(token json.Token) any {
	number, ok := token.(json.Number)
	if !ok {
		return token
	}
	if n, err := number.Int64(); err == nil {
		return n
	}
	f, _ := number.Float64()
	return f
}
