package fences

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// leaves maps a subpackage to the packages of this project that it may import. A subpackage
// that is not in the map may import what its parent package may import.
var leaves = map[string][]string{
	"pkg/api/framing": {"pkg/task"},
	"pkg/api/slots":   {"pkg/task"},
}

func TestLeaves(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		home := path.Dir(file)
		allowed, leaf := leaves[home]
		if !leaf {
			continue
		}
		seen[home] = true
		for _, imported := range imports {
			if inside, ours := strings.CutPrefix(imported, module); ours && !slices.Contains(allowed, inside) {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	}
	for home := range leaves {
		if !seen[home] {
			t.Errorf("there is no %s any more", home)
		}
	}
}
