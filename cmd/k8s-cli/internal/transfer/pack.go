// Package transfer writes and reads archives in the format tar. It does not trust the sources
// of the archives that it reads.
package transfer

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Pack writes a file or directory to w as an archive, under the given name. Symbolic links stay
// links. Pack calls skipped for each file that is neither a file, a directory nor a link.
func Pack(w io.Writer, source, name string, skipped func(string)) error {
	if target, err := filepath.EvalSymlinks(source); err == nil {
		source = target // of the source itself, as cp does
	}
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		return pack(archive, file, path.Join(name, filepath.ToSlash(below)), entry, skipped)
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func pack(archive *tar.Writer, file, name string, entry fs.DirEntry, skipped func(string)) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	case !info.Mode().IsRegular() && !info.IsDir():
		skipped(file)
		return nil
	}
	header, err := tar.FileInfoHeader(info, filepath.ToSlash(link))
	if err != nil {
		return err
	}
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = name, 0, 0, "", ""
	if info.IsDir() {
		header.Name += "/"
	}
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	if n, err := io.CopyN(archive, content, header.Size); err != nil {
		return fmt.Errorf("%s: read %d of %d bytes: %w", file, n, header.Size, err)
	}
	return nil
}
