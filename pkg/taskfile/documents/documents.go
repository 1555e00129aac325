// Package documents splits a task file into its documents. Several documents are a pipeline,
// whose tasks run one after the other, or a job group, whose tasks run at the same time.
package documents

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
)

// A File is a task file.
type File struct {
	Name     string               // of the header; empty without a header
	Parallel bool                 // the tasks are a job group
	JobGroup []group.JobGroupItem // by task; nil unless Parallel
	Tasks    [][]byte             // text of each task; empty lines in front keep the line numbers of the file
}

// Several reports whether the file is a pipeline or a job group.
func (f File) Several() bool { return len(f.Tasks) > 1 || f.Name != "" || f.Parallel }

// maxDocuments bounds the documents of a file, the empty ones included.
const maxDocuments = 100

// Split splits a task file. A file with one document is returned as a whole, valid or not. The
// error is of kind problem.Invalid.
func Split(data []byte) (File, error) {
	data = Text(data)
	texts, err := split(data)
	if err != nil {
		return File{}, err
	}
	var all []document
	for _, text := range texts {
		if d := read(text); !d.empty {
			all = append(all, d)
		}
	}
	if len(all) < 2 {
		return File{Tasks: [][]byte{data}}, nil
	}
	var f File
	if all[0].isHeader() {
		header := all[0].header
		if err := f.readHeader(header); err != nil {
			return File{}, err
		}
		all = all[1:]
		if f.Parallel {
			if err := f.readJobGroup(header, all); err != nil {
				return File{}, err
			}
		}
	}
	for _, d := range all {
		f.Tasks = append(f.Tasks, d.text)
	}
	return f, nil
}

// split cuts data before each line that begins a document, and after each line that ends one. YAML
// allows no such line within a document. Comments and directives belong to the document that follows.
func split(data []byte) ([][]byte, error) {
	var all [][]byte
	begin, line, first := 0, 0, 0
	add := func(end int) {
		all = append(all, append(bytes.Repeat([]byte("\n"), first), data[begin:end]...))
	}
	at := 0
	for text := range bytes.Lines(data) {
		starts, ends := isMarker(text, "---"), isMarker(text, "...")
		if starts && hasContent(data[begin:at]) {
			add(at)
			begin, first = at, line
		}
		at += len(text)
		line++
		if ends {
			add(at)
			begin, first = at, line
		}
		if len(all) > maxDocuments {
			return nil, problem.New(problem.Invalid, fmt.Sprintf("more than %d documents in one file; split the file", maxDocuments))
		}
	}
	add(len(data))
	return all, nil
}

// isMarker reports whether a line begins (---) or ends (...) a document.
func isMarker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
}

// hasContent reports whether a text has lines other than comments and directives.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// A document is one document of a file.
type document struct {
	text   []byte
	empty  bool
	header map[string]yaml.Node // fields of a mapping
}

// read reads one document. A document with an error has no fields; the parser of tasks reports
// the error.
func read(text []byte) (d document) {
	d.text = text
	defer func() { _ = recover() }() // the library panics on some invalid texts
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return d
	}
	if len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null" {
		d.empty = true
		return d
	}
	_ = root.Decode(&d.header)
	return d
}

// The fields of a header.
const (
	fieldName        = "name"
	fieldExecution   = "execution"
	fieldPrimary     = "primary_tasks"
	fieldTermination = "termination_delay"
)

// isHeader reports whether a document has fields of a header only.
func (d document) isHeader() bool {
	for field := range d.header {
		switch field {
		case fieldName, fieldExecution, fieldPrimary, fieldTermination:
		default:
			return false
		}
	}
	return len(d.header) > 0
}

func (f *File) readHeader(fields map[string]yaml.Node) error {
	name, execution := fields[fieldName], fields[fieldExecution]
	if !name.IsZero() && (name.Kind != yaml.ScalarNode || name.Decode(&f.Name) != nil) {
		return wrong(name, "name: must be a text")
	}
	switch {
	case execution.IsZero(), execution.Value == "serial":
	case execution.Value == "parallel":
		f.Parallel = true
	default:
		return wrong(execution, fmt.Sprintf("execution: %s is not serial or parallel", task.Quote(execution.Value)))
	}
	for _, field := range []string{fieldPrimary, fieldTermination} {
		if n, ok := fields[field]; ok && !f.Parallel {
			return wrong(n, field+": is valid only with execution: parallel")
		}
	}
	return nil
}

func wrong(n yaml.Node, message string) error {
	return problem.New(problem.Invalid, InLine(n.Line, true, message))
}

// InLine returns an error message with the line in front: "line N, FIELD: text", or "line N: text" if the
// message does not begin with a field. 0 means that the line is unknown.
func InLine(line int, hasField bool, message string) string {
	switch {
	case line == 0:
		return message
	case hasField:
		return fmt.Sprintf("line %d, %s", line, message)
	}
	return fmt.Sprintf("line %d: %s", line, message)
}
