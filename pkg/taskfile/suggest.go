package taskfile

import (
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task/problem"
)

// unknown returns the error for a key that s does not have. The error suggests the nearest
// key of s or of another table.
func (w *decoder) unknown(key string, s schema) error {
	if name := nearest(key, s); name != "" {
		return w.rejected(problem.UnknownField, "unknown field, did you mean %s?", name)
	}
	for _, t := range w.tables() {
		if name := nearest(key, t.fields); name != "" {
			return w.rejected(problem.UnknownField, "unknown field, did you mean %s%s?", t.path, name)
		}
	}
	return w.rejected(problem.UnknownField, "unknown field")
}

// nearest returns the key of s that is most similar to key, or "".
func nearest(key string, s schema) string {
	if len(key) < 3 || len(key) > 40 {
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best, least := "", (len(key)+5)/4
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(name, "_") { // users do not write the internal fields of SkyPilot
			continue
		}
		d := distance(key, name)
		if strings.HasPrefix(name, key+"_") || strings.HasSuffix(name, "_"+key) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of a and b: the smallest number of inserted,
// deleted or replaced bytes that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
