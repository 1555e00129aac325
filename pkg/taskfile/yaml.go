package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task/problem"
)

// maxMarks bounds the characters that may begin a node or a comment. The YAML library
// builds its tree, about 500 bytes for each node, before the nodes can be counted.
// Characters in real block scalars, such as scripts, begin no nodes.
const maxMarks = 20_000

// large is held while a text is parsed that exceeds maxMarks only in apparent scripts. If
// the apparent scripts are not scripts, parsing may take tens of megabytes, so only one
// such text is parsed at a time.
var large sync.Mutex

const maxDocuments = 100 // including empty documents

// fromYAML decodes the single document of a task file.
func fromYAML(data []byte) (*node, error) {
	if marks(data) > maxMarks {
		if n := marksOutside(data); n > maxMarks {
			return nil, problem.New(problem.TooLarge, fmt.Sprintf(
				"the task file has %d line ends, commas, colons, brackets and # outside of scripts (run: |), more than the limit of %d", n, maxMarks))
		}
		large.Lock()
		defer large.Unlock()
	}
	// The library takes quadratic time for many directives, and no custom tag is supported.
	if tagDirective.Match(data) {
		return nil, problem.New(problem.Invalid, "the YAML directive %TAG is not supported")
	}
	docs, err := firstDocuments(data)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return nil, unreadable("the task file is empty")
	case len(docs) > 1:
		return nil, &fieldError{problem.Invalid, "", "several documents in one file form " + feature(docs[0].Content[0]), docs[1].Line}
	}
	b := yamlBuilder{}
	root, err := b.value(docs[0].Content[0], 0)
	if err == nil && len(b.twice) > 0 {
		err = b.twice
	}
	return root, err
}

// marks counts the characters that may begin a node or a comment, anywhere in data.
func marks(data []byte) int {
	n := bytes.Count(data, []byte("- ")) + bytes.Count(data, []byte("? "))
	for _, c := range data {
		switch c {
		case '\n', '\r', ',', ':', '#', '[', '{':
			n++
		}
	}
	return n
}

// script matches the line before a block scalar.
var script = regexp.MustCompile(`^ *(?:- +)*[A-Za-z0-9_.-]+: +[|>][0-9+-]{0,2} *(?:#.*)?$`)

// marksOutside counts the marks outside of apparent scripts. An apparent script consists of
// the lines after a line that matches script which are indented further than this line.
func marksOutside(data []byte) (n int) {
	within, indent := false, 0
	for line := range bytes.Lines(data) {
		text := bytes.TrimRight(line, "\r\n ")
		depth := len(text) - len(bytes.TrimLeft(text, " "))
		if within && (len(text) == 0 || depth > indent) {
			continue
		}
		n += marks(line)
		within, indent = bytes.ContainsAny(text, "|>") && script.Match(text), depth
	}
	return n
}

var tagDirective = regexp.MustCompile(`(?m)^%TAG`)

// firstDocuments returns the first two non-empty documents. Empty documents come from
// superfluous --- lines.
func firstDocuments(data []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if recover() != nil { // the library panics on some invalid texts
			err = unreadable("the task file is not valid YAML")
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	for n := 0; len(docs) < 2; n++ {
		if n == maxDocuments {
			return nil, problem.New(problem.Invalid, fmt.Sprintf("more than %d documents in one file; submit each task separately", maxDocuments))
		}
		doc := new(yaml.Node)
		err := d.Decode(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, notYAML(err, data)
		}
		if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].ShortTag() != "!!null" {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

const severalHow = "; submit the file with 'k8s-cli jobs submit', or send it to POST /tasks/batch as application/yaml"

// feature returns the SkyPilot feature that several documents in one file mean, and what the
// user can do. The feature depends on the first document.
func feature(first *yaml.Node) string {
	for i := 0; i+1 < len(first.Content) && first.Kind == yaml.MappingNode; i += 2 {
		if first.Content[i].Value == "execution" && first.Content[i+1].Value == "parallel" {
			return "a job group (tasks that start together)" + severalHow
		}
	}
	return "a pipeline (tasks that run one after the other)" + severalHow
}
