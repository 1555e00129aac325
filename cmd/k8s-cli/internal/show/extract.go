package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// The functions of this file print parts of an answer: the ids, or the values that a template
// of JSONPath selects.

// generic returns v as a program sees it that reads the JSON of v.
func generic(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return nil, err
	}
	return numbers(data), nil
}

// numbers replaces the numbers in data by integers where possible, which a template can compare
// with its own integers.
func numbers(data any) any {
	switch data := data.(type) {
	case json.Number:
		return scalar(data)
	case []any:
		for i := range data {
			data[i] = numbers(data[i])
		}
	case map[string]any:
		for key := range data {
			data[key] = numbers(data[key])
		}
	}
	return data
}

// writeIDs writes the ids of the tasks and volumes in v, one on a line, each once.
func writeIDs(w io.Writer, v any) error {
	data, err := generic(v)
	if err != nil {
		return err
	}
	var b strings.Builder
	written := map[string]bool{}
	for _, id := range ids(data) {
		if !written[id] {
			fmt.Fprintln(&b, Plain(id))
		}
		written[id] = true
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// idKeys are the fields that hold the id of a task, volume, machine or group.
var idKeys = []string{"task_id", "volume_id", "id", "name", "group"}

// ids returns the id of an object, or the ids of all objects in a list.
func ids(data any) (all []string) {
	switch data := data.(type) {
	case []any:
		for _, one := range data {
			all = append(all, ids(one)...)
		}
	case map[string]any:
		for _, key := range idKeys {
			if id, ok := data[key].(string); ok {
				return []string{id}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if list, ok := data[key].([]any); ok {
				all = append(all, ids(list)...)
			}
		}
	}
	return all
}

// parsePath returns a template of JSONPath. Like kubectl, it accepts an expression without
// braces.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("jsonpath: %w", err)
	}
	return path, nil
}

// writePath writes the values in v that a template selects. The text ends with a newline.
func writePath(w io.Writer, template string, v any) error {
	path, err := parsePath(template)
	if err != nil {
		return err
	}
	data, err := generic(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := path.Execute(&b, data); err != nil {
		return fmt.Errorf("jsonpath: %w", err)
	}
	if text := b.Bytes(); len(text) > 0 && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
	_, err = w.Write(quoteUnsafe(b.Bytes(), JSON))
	return err
}
