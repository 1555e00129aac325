// Package similar finds the field that a user probably meant.
package similar

import (
	"iter"
	"slices"
	"strings"
)

// Nearest returns the name of a field that is most similar to key, or "" if none is similar.
func Nearest(key string, names iter.Seq[string]) string {
	if len(key) < 3 || len(key) > 40 {
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best, least := "", (len(key)+5)/4
	for _, name := range slices.Sorted(names) {
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
