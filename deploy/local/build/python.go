package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// describePython prints which versions the image holds. It fails unless the
// interpreter, its standard library and numpy work.
const describePython = `import ctypes, json, sqlite3, ssl, sys, zlib
import numpy
assert numpy.linalg.inv(numpy.eye(3)).sum() == 3
print("Python %d.%d.%d and numpy %s" % (*sys.version_info[:3], numpy.__version__), end="")`

// unpackPython fetches Python, its standard library and numpy, and everything they
// need, the C library included. The result is a root file system in "root" and its
// versions in "version".
func unpackPython(ctx context.Context, k builder) error {
	root := k
	root.dir = k.out("root")
	if err := os.MkdirAll(root.out("partial"), 0o755); err != nil {
		return err
	}
	// An empty list of installed packages: apt-get fetches also what this machine has.
	installed := k.out("installed")
	if err := os.WriteFile(installed, nil, 0o644); err != nil {
		return err
	}
	if err := root.unpack(ctx, "install", "-y", "-q", "--no-install-recommends", "--download-only",
		"-o", "Dir::State::status="+installed, "-o", "Dir::Cache::archives="+root.dir, "-o", "APT::Sandbox::User=root",
		"python3", "python3-numpy"); err != nil {
		return err
	}
	if err := configure(root.dir); err != nil {
		return fmt.Errorf("configure the packages of Python: %w", err)
	}
	python := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/usr/bin/python3", args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root.dir}
		cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{"LANG=C.UTF-8"}, k.log
		return cmd
	}
	// Every container would compile the modules that it imports, each time.
	if err := python("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/usr/lib").Run(); err != nil {
		return fmt.Errorf("compile the modules of Python: %w", err)
	}
	versions, err := python("-c", describePython).Output()
	if err != nil {
		return fmt.Errorf("run Debian's Python: %w", err)
	}
	return os.WriteFile(k.out("version"), versions, 0o644)
}

// configure does for unpacked packages what their installation would have done:
// /lib and its like become links into /usr, and the libraries that have
// alternatives get the names that programs look for.
func configure(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		from := filepath.Join(root, name)
		if info, err := os.Lstat(from); err != nil || !info.IsDir() {
			continue
		}
		if err := merge(from, filepath.Join(root, "usr", name)); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+name, from); err != nil {
			return err
		}
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*/*/lib*pack.so.3"))
	if err != nil {
		return err
	}
	blas, err := filepath.Glob(filepath.Join(root, "usr/lib/*/*/libblas.so.3"))
	if err != nil {
		return err
	}
	for _, library := range append(libraries, blas...) {
		dir, name := filepath.Split(library)
		link := filepath.Join(filepath.Dir(filepath.Clean(dir)), name)
		if err := os.Symlink(filepath.Join(filepath.Base(dir), name), link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// merge moves everything below from to the same place below to, and removes from.
func merge(from, to string) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return os.Rename(path, target)
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(from)
}
