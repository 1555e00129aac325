package transfer

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// errEmpty is the error of an archive without the requested file.
var errEmpty = errors.New("the archive is empty")

// Unpack reads an archive that contains one file or directory under the given name, and writes the
// file or directory to target. Unpack trusts nothing in the archive, and nothing that an earlier
// archive may have written: it writes only to target and below, follows no link, and calls skipped for
// links that lead out of target and for special files.
func Unpack(r io.Reader, name, target string, skipped func(string)) error {
	archive := tar.NewReader(r)
	header, err := archive.Next()
	switch {
	case errors.Is(err, io.EOF):
		return errEmpty
	case err != nil:
		return fmt.Errorf("read the archive: %w", err)
	case header.Typeflag == tar.TypeReg && strings.HasSuffix(target, "/"):
		return fmt.Errorf("%s is not a directory on this machine; create the directory, or leave out the / at the end", target)
	case header.Typeflag == tar.TypeReg && path.Clean(header.Name) == name:
		if err := checkNoLink(target); err != nil {
			return err
		}
		if err := writeFile(archive, header, func(flag int, mode fs.FileMode) (*os.File, error) { return os.OpenFile(target, flag, mode) }, os.O_TRUNC); err != nil {
			return err
		}
		return drain(r)
	case header.Typeflag != tar.TypeDir || path.Clean(header.Name) != name:
		return fmt.Errorf("%s is neither a file nor a directory; for a symbolic link, name its target", name)
	}
	root, err := openTarget(target)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return drain(r)
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := unpack(root, archive, header, name, skipped); err != nil {
			return err
		}
	}
}

// openTarget makes the directory target if it does not exist, and opens it.
func openTarget(target string) (*os.Root, error) {
	if err := checkNoLink(target); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(target, 0o777); err != nil {
		return nil, err
	}
	return os.OpenRoot(target)
}

// checkNoLink returns an error if target is a symbolic link: an earlier archive may have written the
// link.
func checkNoLink(target string) error {
	if info, err := os.Lstat(filepath.Clean(target)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link; remove the link, or name its target", target)
	}
	return nil
}

// drain reads the padding after the archive, so that its sender does not fail.
func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// unpack writes one entry of an archive below root.
func unpack(root *os.Root, archive *tar.Reader, header *tar.Header, name string, skipped func(string)) error {
	file, ok := within(header.Name, name)
	if !ok {
		return fmt.Errorf("the archive contains %q, which is outside of %q", header.Name, name)
	}
	if header.Typeflag == tar.TypeDir {
		return makeDir(root, file, header.FileInfo().Mode().Perm()|0o700)
	}
	if other, ok := within(header.Linkname, name); ok && header.Typeflag == tar.TypeLink && other == file {
		return nil // the archive contains the file twice
	}
	if err := makeParent(root, filepath.Dir(file)); err != nil {
		return err
	}
	if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return writeFile(archive, header, func(flag int, mode fs.FileMode) (*os.File, error) { return root.OpenFile(file, flag, mode) }, os.O_EXCL)
	case tar.TypeLink:
		other, ok := within(header.Linkname, name)
		if info, err := root.Lstat(other); ok && err == nil && info.Mode().IsRegular() { // a link to a symbolic link could lead out from another directory
			return root.Link(other, file)
		}
	case tar.TypeSymlink:
		link := filepath.FromSlash(header.Linkname)
		if !filepath.IsAbs(link) && !descendsAndReturns(link) && filepath.IsLocal(filepath.Join(filepath.Dir(file), link)) {
			return root.Symlink(link, file)
		}
	}
	skipped(header.Name)
	return nil
}

// descendsAndReturns reports whether a path has .. after another component, which may be a link.
func descendsAndReturns(link string) bool {
	parts := strings.Split(link, string(filepath.Separator))
	down := slices.IndexFunc(parts, func(part string) bool { return part != ".." && part != "." })
	return down >= 0 && slices.Contains(parts[down:], "..")
}

func makeDir(root *os.Root, dir string, mode fs.FileMode) error {
	if err := makeParent(root, dir); err != nil || dir == "." {
		return err
	}
	return root.Chmod(dir, mode)
}

// makeParent makes a directory, none of whose parents is a link. The entries of an honest archive are
// not below links.
func makeParent(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeParent(root, filepath.Dir(dir)); err != nil {
		return err
	}
	switch info, err := root.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return root.Mkdir(dir, 0o777)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("the archive contains files below %q, which is not a directory", dir)
	}
	return nil
}

// within returns the path of an entry below the directory name.
func within(entry, name string) (file string, ok bool) {
	entry = path.Clean(entry)
	if name != "." {
		if entry, ok = strings.CutPrefix(entry, name+"/"); !ok {
			return "", false
		}
	}
	file = filepath.FromSlash(entry)
	return file, filepath.IsLocal(file)
}

func writeFile(content io.Reader, header *tar.Header, open func(flag int, mode fs.FileMode) (*os.File, error), how int) error {
	f, err := open(os.O_CREATE|os.O_WRONLY|how, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
