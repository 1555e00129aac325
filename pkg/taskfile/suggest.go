package taskfile

import (
	"maps"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile/similar"
)

// unknown returns the error for a key that s does not have. The error suggests the nearest
// key of s or of another table.
func (w *decoder) unknown(key string, s schema) error {
	if name := similar.Nearest(key, maps.Keys(s)); name != "" {
		return w.rejected(problem.UnknownField, "unknown field, did you mean %s?", name)
	}
	for _, t := range w.tables() {
		if name := similar.Nearest(key, maps.Keys(t.fields)); name != "" {
			return w.rejected(problem.UnknownField, "unknown field, did you mean %s%s?", t.path, name)
		}
	}
	return w.rejected(problem.UnknownField, "unknown field")
}
