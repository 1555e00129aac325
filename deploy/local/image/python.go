package image

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unneeded are files that no program asks for at run time: documentation, tests and
// what belongs to the package manager.
var unneeded = []string{
	"etc/[^mp]*", "sbin", "bin", "var", "usr/sbin", "usr/share", "usr/libexec", "usr/include", "usr/lib/dpkg", "usr/lib/*/gconv",
	"usr/lib/python3/dist-packages/numpy/tests", "usr/lib/python3/dist-packages/numpy/*/tests", "usr/lib/python3.*/test",
}

// python is the layer above the task image's: the interpreter, its modules and the
// libraries they need, from a root file system in root.
func python(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		switch {
		case matches(name, unneeded) && d.IsDir():
			return fs.SkipDir
		case matches(name, unneeded), name == "", name == "usr", name == "usr/bin":
			return nil
		case strings.HasPrefix(name, "usr/bin/"):
			if !strings.HasPrefix(name, "usr/bin/python3") {
				return nil
			}
			name = strings.TrimPrefix(name, "usr/") // where the task image has its programs
		}
		f, err := read(path, name, d)
		files = append(files, f)
		return err
	})
	// An image of Python has both names, and before those of the system.
	return append(files,
		file{path: "usr/local/bin/python", link: "/usr/bin/python3", mode: 0o777},
		file{path: "usr/local/bin/python3", link: "/usr/bin/python3", mode: 0o777}), err
}

func matches(name string, patterns []string) bool {
	for _, pattern := range patterns {
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// read makes an entry of a layer out of a file of this machine.
func read(path, name string, d fs.DirEntry) (file, error) {
	if d.IsDir() {
		return file{path: name + "/", mode: 0o755}, nil
	}
	if d.Type() == fs.ModeSymlink {
		link, err := os.Readlink(path)
		return file{path: name, link: link, mode: 0o777}, err
	}
	info, err := d.Info()
	if err != nil {
		return file{}, err
	}
	content, err := os.ReadFile(path)
	return file{path: name, mode: int64(info.Mode().Perm()), content: content}, err
}
