package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A tree is the files of the checkout, without ignored files, and the imports of its Go packages.
type tree struct {
	files   []string            // sorted, relative to the root
	imports map[string][]string // the directories of the main module that a pattern of packages reads
}

func readTree() (*tree, error) {
	files, err := lines("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	t := &tree{files: slices.Compact(files), imports: map[string][]string{}}
	return t, t.readImports()
}

// readImports fills in the imports of the tree.
func (t *tree) readImports() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .Deps " "}}{{"\t"}}{{.Module.Path}}{{"\000"}}`
	listed, err := lines("go", "list", "-test", "-f", format, "./...")
	if err != nil {
		return err
	}
	module := ""
	dirs, deps := map[string]string{}, map[string][]string{} // by package
	for _, line := range listed {
		fields := strings.Split(strings.TrimLeft(line, "\n"), "\t")
		name, _, _ := strings.Cut(fields[0], " ") // "p [q.test]" is p, compiled for the tests of q
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")
		if dirs[name], err = filepath.Rel(root, fields[1]); err != nil {
			return err
		}
		module = fields[3]
		deps[name] = append(deps[name], strings.Fields(fields[2])...)
	}
	for _, s := range slices.Concat(gate, suites) {
		for _, pattern := range s.packages {
			prefix, below := strings.CutSuffix(module+strings.TrimPrefix(pattern, "."), "/...")
			var found []string
			for name := range dirs {
				if name == prefix || below && strings.HasPrefix(name, prefix+"/") {
					found = append(found, dirs[name])
					for _, dep := range deps[name] {
						if dir := dirs[dep]; dir != "" {
							found = append(found, dir)
						}
					}
				}
			}
			slices.Sort(found)
			t.imports[pattern] = slices.Compact(found)
		}
	}
	return nil
}

// reads returns a function that reports whether a suite reads a file. A suite reads the files of a
// package and of the directories below that contain no other package, for example testdata.
func (t *tree) reads(s suite) func(file string) bool {
	packages := map[string]bool{}
	for _, pattern := range s.packages {
		for _, dir := range t.imports[pattern] {
			packages[dir] = true
		}
	}
	code := map[string]bool{}
	for _, file := range t.files {
		if strings.HasSuffix(file, ".go") && !strings.Contains(file, "/testdata/") {
			code[path.Dir(file)] = true
		}
	}
	return func(file string) bool {
		for _, p := range slices.Concat(common, s.paths) {
			if p == "." || file == p || strings.HasPrefix(file, p+"/") {
				return true
			}
		}
		dir := path.Dir(file)
		for dir != "." && !code[dir] {
			dir = path.Dir(dir)
		}
		return packages[dir]
	}
}

// hash returns the hash of the files that a suite reads, and of the version of Go.
func (t *tree) hash(s suite) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version())
	reads := t.reads(s)
	for _, file := range t.files {
		if !reads(file) {
			continue
		}
		content, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) { // deleted, and not committed
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "\n%s\n", file)
		if info, err := content.Stat(); err == nil && !info.IsDir() {
			_, err = io.Copy(h, content)
			if err != nil {
				return "", err
			}
		}
		content.Close()
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// changedSince returns the files that differ from a commit, deleted and new files included.
func changedSince(base string) ([]string, error) {
	changed, err := lines("git", "diff", "--name-only", "-z", "--no-renames", base)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", base, err)
	}
	added, err := lines("git", "ls-files", "-z", "--others", "--exclude-standard")
	return append(changed, added...), err
}

// lines runs a command and returns its output, cut at zero bytes.
func lines(name string, arguments ...string) ([]string, error) {
	c := exec.Command(name, arguments...)
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return slices.DeleteFunc(strings.Split(string(out), "\000"), func(s string) bool { return strings.TrimSpace(s) == "" }), nil
}
