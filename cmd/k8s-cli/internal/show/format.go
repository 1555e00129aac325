// Package show formats the answers of the server. People get text, and programs JSON or YAML.
// The package sends no requests.
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

// A Format is an output format, and the value of the flag --output.
type Format string

// The formats.
const (
	Text Format = "table" // for people
	Wide Format = "wide"  // for people with wide screens
	JSON Format = "json"  // the response body of the server
	YAML Format = "yaml"  // the same data as JSON
	Name Format = "name"  // only the ids
	CSV  Format = "csv"   // for spreadsheets

	pathPrefix = "jsonpath=" // before a template of JSONPath, as in kubectl
)

// Formats lists the names of the formats. A template follows the last name.
var Formats = []string{string(Text), string(Wide), string(JSON), string(YAML), string(Name), pathPrefix}

// PlainFormats lists the formats of answers without ids. A template follows the last name.
var PlainFormats = []string{string(Text), string(JSON), string(YAML), pathPrefix}

// String returns the name of f.
func (f *Format) String() string { return string(*f) }

// Type returns the names of the formats for the help of the flag.
func (f *Format) Type() string { return "FORMAT" }

// Set sets f to the format with this name, which is one of Formats or CSV.
func (f *Format) Set(name string) error {
	template, isPath := strings.CutPrefix(name, pathPrefix)
	switch {
	case isPath:
		if _, err := parsePath(template); err != nil {
			return err
		}
	case Format(name) != CSV && !slices.Contains(Formats, name):
		return fmt.Errorf("%q is not a format", name)
	}
	*f = Format(name)
	return nil
}

// IsData reports whether f is a format for programs.
func (f Format) IsData() bool { return f != Text && f != Wide }

// Data writes v in a format for programs, with the field names of JSON.
func Data(w io.Writer, f Format, v any) error {
	switch {
	case f == YAML:
		return writeYAML(w, v)
	case f == Name:
		return writeIDs(w, v)
	case strings.HasPrefix(string(f), pathPrefix):
		return writePath(w, strings.TrimPrefix(string(f), pathPrefix), v)
	}
	return writeJSON(w, v, "  ")
}

// Record writes v as one of several records: a line of JSON, a document of YAML, or what
// Data writes in another format.
func Record(w io.Writer, f Format, v any) error {
	switch f {
	case JSON:
		return writeJSON(w, v, "")
	case YAML:
		if _, err := fmt.Fprintln(w, "---"); err != nil {
			return err
		}
	}
	return Data(w, f, v)
}

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

// yamlNode reads one JSON value and keeps the order of its fields.
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
			node.Style = yaml.DoubleQuotedStyle // the only style with escapes
		}
		return node, err
	}
	node.Kind = yaml.SequenceNode
	if delim == '{' {
		node.Kind = yaml.MappingNode
	}
	for d.More() { // to the decoder, the keys of an object are values
		child, err := yamlNode(d)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err = d.Token()
	return node, err
}

// scalar returns the Go value that yaml encodes like token. The decoder returns numbers
// as text.
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
