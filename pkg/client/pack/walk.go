package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s-cli/pkg/task/problem"
)

// The files with patterns of excluded files, as in SkyPilot. A .skyignore file at the top
// applies to the whole tree. Without it, git decides.
const (
	skyIgnore = ".skyignore"
	gitIgnore = ".gitignore"
	gitDir    = ".git" // always excluded
)

// A tree is the content of an archive, in the order of the archive.
type tree struct {
	entries []entry
	size    int64            // bytes of the files
	sizes   map[string]int64 // bytes of each file or directory at the top level
	leftOut []string
}

// walk returns the tree of a file or directory.
func walk(ctx context.Context, root string, tracked bool) (*tree, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return single(root, info), nil
	}
	w := walker{tree: &tree{sizes: map[string]int64{}}}
	w.tree.entries = append(w.tree.entries, entry{path: root, name: ".", mode: info.Mode(), changed: info.ModTime()})
	sky, err := readRules(filepath.Join(root, skyIgnore), nil)
	switch {
	case err == nil:
		return w.tree, w.dir(root, nil, byRules{sky, false})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case tracked:
		return w.tree, w.dir(root, nil, byRules{})
	}
	return w.tree, w.dir(root, nil, gitSelector(ctx, root))
}

// A selector decides which entries of a directory are in the archive.
type selector interface {
	// enter returns the selector for a directory, which is root and the directories below it.
	enter(dir string, at []string) (selector, error)
	// has reports whether an entry of that directory is in the archive. at is its path below the top.
	has(at []string, isDir bool) bool
}

type walker struct{ tree *tree }

// dir adds the content of a directory. at is the path of the directory below the top.
func (w *walker) dir(dir string, at []string, s selector) error {
	s, err := s.enter(dir, at)
	if err != nil {
		return err
	}
	items, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	for _, item := range items {
		name := append(slices.Clip(at), item.Name())
		if item.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 { // git does not list it
			w.tree.leftOut = append(w.tree.leftOut, path.Join(name...))
			continue
		}
		if item.Name() == gitDir || !s.has(name, item.IsDir()) {
			continue
		}
		if err := w.add(filepath.Join(dir, item.Name()), name, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) add(file string, name []string, s selector) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	e := entry{path: file, name: path.Join(name...), mode: info.Mode(), changed: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		e.size = info.Size()
		w.tree.size += e.size
		w.tree.sizes[name[0]] += e.size
	case info.Mode()&fs.ModeSymlink != 0:
		if e.link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	w.tree.entries = append(w.tree.entries, e)
	if info.IsDir() {
		return w.dir(file, name, s)
	}
	return nil
}

const named = 3 // number of the largest entries in the error

// tooLarge returns an error that names the largest entries.
func (t *tree) tooLarge(of string, limit int64) error {
	largest := slices.SortedFunc(maps.Keys(t.sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.sizes[b], t.sizes[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, named)
	for _, name := range largest[:min(len(largest), named)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", name, FormatSize(t.sizes[name])))
	}
	return problem.New(problem.TooLarge, fmt.Sprintf("%s exceeds the packed size limit of the server, %s; the largest entries are: %s. Exclude files with a %s, or store them on a volume",
		of, FormatSize(limit), strings.Join(parts, ", "), skyIgnore))
}

// FormatSize formats a number of bytes for people.
func FormatSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 || value >= 10 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
