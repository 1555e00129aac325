package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s-cli/test/testkit/must"
)

// sample returns a tree of a server that imports a log, with files in a temporary directory.
func sample(t *testing.T) *tree {
	t.Helper()
	t.Chdir(t.TempDir())
	files := []string{"README.md", "deploy/local/up.go", "go.mod", "pkg/log/log.go", "pkg/log/testdata/old/entry.json", "pkg/ui/app.js", "pkg/ui/ui.go", "server/main.go"}
	for _, file := range files {
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Write(t, file, file)
	}
	return &tree{files: files, imports: map[string][]string{"./server": {"pkg/log", "server"}}}
}

var onlyServer = suite{name: "server", packages: []string{"./server"}, paths: []string{"deploy/local"}}

func TestSuitesReadTheirPackagesAndPaths(t *testing.T) {
	all := sample(t)
	reads := all.reads(onlyServer)
	got := slices.DeleteFunc(slices.Clone(all.files), func(file string) bool { return !reads(file) })
	want := []string{"deploy/local/up.go", "go.mod", "pkg/log/log.go", "pkg/log/testdata/old/entry.json", "server/main.go"}
	if !slices.Equal(got, want) {
		t.Errorf("the suite reads %q, want %q", got, want)
	}
	if !reads("pkg/log/deleted.go") || reads("pkg/ui/deleted.js") {
		t.Error("files that were deleted count by their directory")
	}
}

func TestHashChangesWithTheFilesThatASuiteReads(t *testing.T) {
	all := sample(t)
	hash := func() string {
		t.Helper()
		h, err := all.hash(onlyServer)
		must.Succeed(t, err)
		return h
	}
	change := func(file string) {
		t.Helper()
		must.Write(t, file, "changed")
	}
	first := hash()
	change("pkg/ui/app.js")
	if hash() != first {
		t.Error("the hash changed with a file that the suite does not read")
	}
	change("pkg/log/testdata/old/entry.json")
	second := hash()
	if second == first {
		t.Error("the hash did not change with a file of a package")
	}
	must.Succeed(t, os.Remove("server/main.go"))
	if hash() == second {
		t.Error("the hash did not change with a deleted file")
	}
}

// The table names packages and paths that exist.
func TestTableOfSuites(t *testing.T) {
	t.Chdir("../..")
	all, err := readTree()
	must.Succeed(t, err)
	for _, s := range suites {
		for _, p := range slices.Concat(common, s.paths) {
			if _, err := os.Stat(p); err != nil {
				t.Errorf("suite %s: %v", s.name, err)
			}
		}
		for _, pattern := range s.packages {
			if len(all.imports[pattern]) == 0 {
				t.Errorf("suite %s: %s has no packages", s.name, pattern)
			}
		}
	}
	if reads := all.reads(suites[slices.Index(suiteNames(), "crash")]); !reads("pkg/queue/log.go") || reads("cmd/k8s-cli/main.go") {
		t.Error("the crash suite must read the packages of the server, and not the CLI")
	}
}
