package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry is a file in an archive.
type entry struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// under returns the entries with dir prepended to their paths, sorted by path.
func under(dir string, all []entry) []entry {
	all = slices.Clone(all)
	for i := range all {
		all[i].path = path.Join(dir, all[i].path)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return all
}

// pack writes an archive, as zip or as compressed tar. The archive has no owners, and at
// as the time of all files.
func pack(name string, zipped bool, all []entry, at time.Time) error {
	var archive bytes.Buffer
	write, suffix := writeTar, ".tar.gz"
	if zipped {
		write, suffix = writeZip, ".zip"
	}
	if err := write(&archive, all, at); err != nil {
		return fmt.Errorf("pack %s: %w", filepath.Base(name), err)
	}
	return os.WriteFile(name+suffix, archive.Bytes(), 0o644)
}

func writeTar(w io.Writer, all []entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(compressed)
	for _, e := range all {
		h := &tar.Header{Name: e.path, Mode: int64(e.mode), Size: int64(len(e.content)), Typeflag: tar.TypeReg, ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.content); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), compressed.Close())
}

func writeZip(w io.Writer, all []entry, at time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.path, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		file, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return z.Close()
}

// readTar returns the files in a compressed tar.
func readTar(r io.Reader) (all []entry, err error) {
	raw, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(raw); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{h.Name, h.FileInfo().Mode().Perm(), content})
	}
}

// checksums writes the checksums of all other files in dir to a file in the format of
// sha256sum.
func checksums(dir, name string) error {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(sums.String()), 0o644)
}
