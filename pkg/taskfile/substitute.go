package taskfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// SkyPilot replaces $NAME and ${NAME} in the paths of a task by the values in envs.
// Variables that envs does not contain stay, and so do variables in scripts.

// maxVariables is far more than a path contains.
const maxVariables = 100

// substitute replaces the variables in the paths of t.
func (d *decoder) substitute(t *task.Spec) error {
	s := substitution{values: t.Envs, budget: MaxSize, lines: d.lines}
	t.Workdir = s.replace("workdir", t.Workdir)
	t.Git.URL, t.Git.Ref = s.replace("workdir", t.Git.URL), s.replace("workdir", t.Git.Ref)
	t.Volumes = s.replaceAll("volumes", t.Volumes)
	t.SubPaths = s.replaceAll("sub_paths", t.SubPaths)
	t.FileMounts = s.replaceAll("file_mounts", t.FileMounts)
	t.Uploads = s.replaceAll("uploads", t.Uploads)
	for i, path := range t.Outputs {
		t.Outputs[i] = s.replace("outputs", path)
	}
	for i := range d.forms {
		f := &d.forms[i]
		for _, text := range f.texts() {
			*text = s.replace("file_mounts", *text)
		}
	}
	return s.err
}

// A substitution replaces variables until the first error.
type substitution struct {
	values map[string]string
	budget int // bytes that values may still add to the texts
	lines  map[string]int
	err    error // first error
}

func (s *substitution) fail(kind error, field, text string) {
	if s.err == nil {
		s.err = &fieldError{kind, field, text, s.lines[field]}
	}
}

// replace returns text with its variables replaced. replace rejects a result that again
// contains a variable, because a second substitution, for example by the server, would
// change the result.
func (s *substitution) replace(field, text string) string {
	if len(s.values) == 0 || s.err != nil {
		return text
	}
	replaced, n := expand(text, s.values, maxVariables, &s.budget)
	switch {
	case n > maxVariables:
		s.fail(problem.Invalid, field, fmt.Sprintf("names more than %d variables", maxVariables))
		return text
	case s.budget < 0:
		s.fail(problem.TooLarge, field, "is too long after its variables are replaced")
		return text
	}
	if n > 0 {
		if _, again := expand(replaced, s.values, maxVariables, &s.budget); again > 0 {
			s.fail(problem.Invalid, field, "becomes "+task.Quote(replaced)+", which again contains a variable; give variables plain values")
		}
	}
	return replaced
}

// replaceAll returns m with the variables in its keys and values replaced.
func (s *substitution) replaceAll(field string, m map[string]string) map[string]string {
	if len(m) == 0 || len(s.values) == 0 {
		return m
	}
	replaced := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		to := s.replace(field, key)
		if _, twice := replaced[to]; twice {
			s.fail(problem.Invalid, field, task.Quote(to)+" is a duplicate key after its variables are replaced")
		}
		replaced[to] = s.replace(field, m[key])
	}
	return replaced
}

// expand returns text with the variables in values replaced, and their number. expand stops after
// most+1 variables, and when the values have used up budget, the number of bytes that they may add.
func expand(text string, values map[string]string, most int, budget *int) (string, int) {
	var b strings.Builder
	n := 0
	for n <= most && *budget >= 0 {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			break
		}
		name, length := variable(text[at:])
		value, ok := values[name]
		if !ok {
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		b.WriteString(text[:at])
		b.WriteString(value)
		text = text[at+length:]
		*budget -= len(value)
		n++
	}
	b.WriteString(text)
	return b.String(), n
}

// variable returns the name in the $NAME or ${NAME} at the beginning of text, and the
// length of this expression. The name is empty if text begins with neither.
func variable(text string) (name string, length int) {
	rest, braces := strings.CutPrefix(text[1:], "{")
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		end = len(rest)
	}
	if !braces {
		return rest[:end], 1 + end
	}
	if !strings.HasPrefix(rest[end:], "}") {
		return "", 0
	}
	return rest[:end], end + len("${}")
}
