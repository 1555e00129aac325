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
	"pkg/api/framing":    {"pkg/task/problem"},
	"pkg/api/params":     {"pkg/task", "pkg/task/group", "pkg/task/logpos", "pkg/task/problem", "pkg/task/query"},
	"pkg/api/slots":      {"pkg/task", "pkg/task/problem"},
	"pkg/api/submission": {"pkg/api/slots", "pkg/task", "pkg/task/problem"},

	"pkg/client/account": {"pkg/task"},
	"pkg/client/pack":    {"pkg/task", "pkg/task/problem"},

	"cmd/k8s-cli/internal/complete": {"cmd/k8s-cli/internal/ref", "cmd/k8s-cli/internal/show", "pkg/client", "pkg/task/query"},
	"cmd/k8s-cli/internal/dotenv":   {},
	"cmd/k8s-cli/internal/grid":     {"cmd/k8s-cli/internal/exit"},
	"cmd/k8s-cli/internal/logline":  {},
	"cmd/k8s-cli/internal/ref":      {"pkg/client", "pkg/task", "pkg/task/overview", "pkg/task/problem", "pkg/task/query"},
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
