// Package pack creates archives of files and directories. Equal content gives equal
// archives: the entries are sorted, have no owners, and their times are whole seconds.
package pack

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s-cli/pkg/task"
)

// Options select the content of an archive and limit its size.
type Options struct {
	Limit    int64                   // maximum size of the archive in bytes; 0 means no limit
	Tracked  bool                    // disregard .gitignore: the directory is a checkout, which has only tracked files
	Changed  time.Time               // time of all entries; the zero time means their own
	Progress func(done, total int64) // called with bytes of the files; may be nil
}

// An Archive is a compressed tar file. The file exists until Remove.
type Archive struct {
	Path    string
	Sum     string   // SHA-256, hexadecimal
	Size    int64    // bytes
	LeftOut []string // skipped: neither a file, nor a directory, nor a link
}

// Open opens the archive.
func (a *Archive) Open() (io.ReadCloser, error) { return os.Open(a.Path) }

// Remove removes the archive.
func (a *Archive) Remove() { os.Remove(a.Path) }

// Pack creates the archive of a file or of the content of a directory. If the archive
// exceeds the limit, the error is of kind problem.TooLarge and names the largest entries.
func Pack(ctx context.Context, path string, o Options) (*Archive, error) {
	tree, err := walk(ctx, path, o.Tracked)
	if err != nil {
		return nil, err
	}
	for i := range tree.entries {
		if !o.Changed.IsZero() {
			tree.entries[i].changed = o.Changed
		}
	}
	file, err := os.CreateTemp("", "k8s-cli-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("create a file for the archive of %s: %w", path, err)
	}
	defer file.Close()
	a := &Archive{Path: file.Name(), LeftOut: tree.leftOut}
	w := &writer{to: file, hash: sha256.New(), limit: o.Limit}
	if err := write(ctx, tree, w, o.Progress); err != nil {
		a.Remove()
		if errors.Is(err, errLimit) {
			err = tree.tooLarge(path, o.Limit)
		}
		return nil, err
	}
	a.Sum, a.Size = hex.EncodeToString(w.hash.Sum(nil)), w.size
	return a, nil
}

var errLimit = errors.New("the archive is too large")

// A writer computes the size and the hash of the bytes that it writes.
type writer struct {
	to    io.Writer
	hash  hash.Hash
	size  int64
	limit int64
}

func (w *writer) Write(p []byte) (int, error) {
	if w.size += int64(len(p)); w.limit > 0 && w.size > w.limit {
		return 0, errLimit
	}
	_, _ = w.hash.Write(p) // Write of a hash returns no error
	return w.to.Write(p)
}

func write(ctx context.Context, t *tree, to io.Writer, progress func(done, total int64)) error {
	zip := gzip.NewWriter(to)
	archive := tar.NewWriter(zip)
	done := int64(0)
	for _, e := range t.entries {
		if err := archive.WriteHeader(e.header()); err != nil {
			return fmt.Errorf("pack %s: %w", e.path, err)
		}
		if !e.mode.IsRegular() {
			continue
		}
		err := e.copyTo(ctx, archive, func(n int) {
			if done += int64(n); progress != nil {
				progress(done, t.size)
			}
		})
		if err != nil {
			return fmt.Errorf("pack %s: %w", e.path, err)
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

// An entry is one file, directory or link of an archive.
type entry struct {
	path    string // on this machine
	name    string // in the archive; . is the directory itself
	mode    fs.FileMode
	changed time.Time
	size    int64  // of a file
	link    string // target of a link
}

// header returns the tar header of the entry, without fields that depend on the machine.
func (e entry) header() *tar.Header {
	h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Typeflag: tar.TypeReg, Size: e.size, ModTime: e.changed.Truncate(time.Second)}
	switch {
	case e.mode.IsDir():
		h.Name, h.Typeflag, h.Mode = e.name+"/", tar.TypeDir, h.Mode|0o700 // the owner must be able to create files in the directory
	case e.mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
	}
	return h
}

func (e entry) copyTo(ctx context.Context, w io.Writer, wrote func(n int)) error {
	f, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(w, io.LimitReader(&watched{ctx, f, wrote}, e.size))
	if err == nil && n < e.size {
		err = errors.New("the file became shorter while it was read")
	}
	return err
}

// A watched reader reports how many bytes were read. It stops when ctx ends.
type watched struct {
	ctx  context.Context // for all reads
	from io.Reader
	read func(n int)
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.from.Read(p)
	w.read(n)
	return n, err
}

// single returns the tree of a single file.
func single(path string, info fs.FileInfo) *tree {
	return &tree{
		entries: []entry{{path: path, name: task.SingleFile, mode: info.Mode(), changed: info.ModTime(), size: info.Size()}},
		size:    info.Size(), sizes: map[string]int64{filepath.Base(path): info.Size()},
	}
}
