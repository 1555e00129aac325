package fences

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s-cli/test/testkit/must"
)

// TestModulesRequireTheSameVersions checks that no two modules of this repository require
// different versions of the same module. Otherwise the server and the programs of the
// local cluster do not share packages in the build cache of Go, and the first make run
// compiles a third of the packages twice.
func TestModulesRequireTheSameVersions(t *testing.T) {
	type seen struct{ version, module string }
	first := map[string]seen{}
	for _, dir := range modules(t) {
		for path, version := range required(t, dir) {
			if path == "google.golang.org/genproto/googleapis/rpc" && filepath.Base(dir) == "bucket" {
				continue // rclone requires a later version than Kubernetes, and few packages import it
			}
			if other, ok := first[path]; ok && other.version != version {
				t.Errorf("%s is %s in %s and %s in %s; require the newer one in both", path, version, dir, other.version, other.module)
				continue
			}
			first[path] = seen{version, dir}
		}
	}
}

// modules returns the directories of the modules of this repository.
func modules(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".local" || d.Name() == ".git"):
			return fs.SkipDir
		case d.Name() == "go.mod":
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	must.Succeed(t, err)
	if len(dirs) < 8 {
		t.Fatalf("only %d modules were found: %v", len(dirs), dirs)
	}
	return dirs
}

// required returns the versions of the modules that the module in dir requires.
func required(t *testing.T, dir string) map[string]string {
	t.Helper()
	edit := exec.Command("go", "mod", "edit", "-json")
	edit.Dir = dir
	out, err := edit.Output()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	type module struct{ Path, Version string }
	var mod struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	must.Succeed(t, json.Unmarshal(out, &mod))
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range mod.Replace {
		if _, ok := versions[r.Old.Path]; ok {
			versions[r.Old.Path] = r.New.Version
		}
	}
	return versions
}
