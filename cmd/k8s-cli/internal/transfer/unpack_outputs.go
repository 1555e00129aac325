package transfer

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The size of the files that an archive may contain: minUnpacked, or maxRatio times the size of the
// archive if that is more. gzip can compress zeros to a thousandth.
const (
	minUnpacked = 4 << 30
	maxRatio    = 100
)

// UnpackGzip reads a gzipped archive and writes its files below the directory target. UnpackGzip trusts
// nothing in the archive, as Unpack. Unless overwrite is set, UnpackGzip writes nothing if one of
// the files exists.
func UnpackGzip(archive io.ReadSeeker, target string, overwrite bool, skipped func(string)) error {
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	root, err := openTarget(target)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	left := max(minUnpacked, maxRatio*size)
	if !overwrite {
		if err := entries(archive, func(_ *tar.Reader, header *tar.Header) error { return checkAbsent(root, header) }); err != nil {
			return err
		}
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return entries(archive, func(content *tar.Reader, header *tar.Header) error {
		if left -= header.Size; left < 0 {
			return fmt.Errorf("the archive of %d bytes contains files of more than %d bytes; if you trust it, download it from the API and unpack it yourself", size, max(minUnpacked, maxRatio*size))
		}
		return unpack(root, content, header, ".", skipped)
	})
}

// checkAbsent returns an error if the file of an entry exists below root.
func checkAbsent(root *os.Root, header *tar.Header) error {
	file, ok := within(header.Name, ".")
	if !ok || header.Typeflag == tar.TypeDir {
		return nil // unpack rejects an entry that is not below root
	}
	if _, err := root.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists in %s; pass --force to overwrite files, or name another directory", file, root.Name())
	}
	return nil
}

// entries calls do for each entry of a gzipped archive.
func entries(r io.Reader, do func(*tar.Reader, *tar.Header) error) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	archive := tar.NewReader(z)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return drain(z)
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if err := do(archive, header); err != nil {
			return err
		}
	}
}
