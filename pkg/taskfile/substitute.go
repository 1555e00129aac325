package taskfile

import (
	"fmt"
	"maps"
	"slices"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile/variables"
)

// SkyPilot replaces $NAME and ${NAME} in the paths of a task by the values in envs.
// Variables that envs does not contain stay, and so do variables in scripts.

// maxVariables is far more than a path contains.
const maxVariables = 100

// substitute replaces the variables in the paths of t.
func (w *decoder) substitute(t *task.Spec) error {
	s := substitution{values: t.Envs, budget: MaxSize, lines: w.lines}
	t.Workdir = s.replace("workdir", t.Workdir)
	t.Git.URL, t.Git.Ref = s.replace("workdir", t.Git.URL), s.replace("workdir", t.Git.Ref)
	t.Volumes = s.replaceAll("volumes", t.Volumes)
	t.SubPaths = s.replaceAll("sub_paths", t.SubPaths)
	t.FileMounts = s.replaceAll("file_mounts", t.FileMounts)
	t.Uploads = s.replaceAll("uploads", t.Uploads)
	for i, path := range t.Outputs {
		t.Outputs[i] = s.replace("outputs", path)
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
	replaced, n := variables.Expand(text, s.values, maxVariables, &s.budget)
	switch {
	case n > maxVariables:
		s.fail(task.ErrInvalid, field, fmt.Sprintf("names more than %d variables", maxVariables))
		return text
	case s.budget < 0:
		s.fail(task.ErrTooLarge, field, "is too long after its variables are replaced")
		return text
	}
	if n > 0 {
		if _, again := variables.Expand(replaced, s.values, maxVariables, &s.budget); again > 0 {
			s.fail(task.ErrInvalid, field, "becomes "+task.Quote(replaced)+", which again contains a variable; give variables plain values")
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
			s.fail(task.ErrInvalid, field, task.Quote(to)+" is a duplicate key after its variables are replaced")
		}
		replaced[to] = s.replace(field, m[key])
	}
	return replaced
}
