// Package show turns what the server answers into what is read: text for
// people, JSON and YAML for programs. It only writes; it asks nothing.
package show

import (
	"encoding/json"
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
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
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
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return err
	}
	return encoder.Close()
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
		return node, node.Encode(scalar(token))
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
