package taskfile

import (
	"fmt"
	"regexp"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A fieldPath is the path from the root of a tree to the current value. Errors and warnings
// get their path and line from the fieldPath.
type fieldPath struct{ steps []step }

type step struct {
	key  string
	line int
}

func (p *fieldPath) push(key string, line int) { p.steps = append(p.steps, step{key, line}) }

func (p *fieldPath) pop() { p.steps = p.steps[:len(p.steps)-1] }

// line returns the line of the value, or 0 if unknown.
func (p *fieldPath) line() int {
	if len(p.steps) == 0 {
		return 0
	}
	return p.steps[len(p.steps)-1].line
}

var plainKey = regexp.MustCompile(`^[^\s"\\\pC]{1,100}$`)

// maxPath is the largest size of a path without its last key, in bytes. The paths of all
// fields are shorter.
const maxPath = 300

// path returns the keys joined by dots, such as resources.cpus, or "" at the root. If a
// path is too long, path omits the keys before the last key.
func (p *fieldPath) path() string {
	var path strings.Builder
	for i, s := range p.steps {
		if last := len(p.steps) - 1; path.Len() > maxPath && i < last {
			return path.String() + "..." + (&fieldPath{p.steps[last:]}).path()
		}
		if i > 0 && !strings.HasPrefix(s.key, "[") {
			path.WriteByte('.')
		}
		if plainKey.MatchString(s.key) {
			path.WriteString(s.key)
		} else {
			path.WriteString(task.Quote(s.key))
		}
	}
	return path.String()
}

// wrong returns an error of kind problem.Invalid about the value, with its path and its line.
func (p *fieldPath) wrong(format string, args ...any) error {
	return p.rejected(problem.Invalid, format, args...)
}

// rejected is wrong, with a more specific reason.
func (p *fieldPath) rejected(reason problem.Reason, format string, args ...any) error {
	return &fieldError{reason, p.path(), fmt.Sprintf(format, args...), p.line()}
}

// tooLarge returns an error of kind problem.TooLarge about the value.
func (p *fieldPath) tooLarge(format string, args ...any) error {
	return &fieldError{problem.TooLarge, p.path(), fmt.Sprintf(format, args...), p.line()}
}
