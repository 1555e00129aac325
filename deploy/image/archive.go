package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// archive writes images with a name to one file: a tar of an OCI image layout, without
// times and owners.
func archive(images v1.ImageIndex, named, out string) error {
	tag, err := name.NewTag(named)
	if err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	dir, err := os.MkdirTemp("", "k8s-cli-layout-")
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // if RemoveAll fails, the directory remains among the temporary files
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendIndex(images, layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          tag.Name(), // the annotation that containerd reads
			"org.opencontainers.image.ref.name": tag.TagStr(),
		}))
	}
	if err == nil {
		err = pack(dir, out)
	}
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

// pack writes the files below dir to out, sorted by name. It replaces out atomically.
func pack(dir, out string) error {
	file, err := os.Create(out + ".new")
	if err != nil {
		return err
	}
	t := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return add(t, dir, path, entry.IsDir())
	})
	if err := errors.Join(err, t.Close(), file.Close()); err != nil {
		return err
	}
	return os.Rename(out+".new", out)
}

func add(t *tar.Writer, dir, path string, isDir bool) error {
	inside, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: filepath.ToSlash(inside), Mode: 0o644, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if isDir {
		h.Name, h.Mode, h.Typeflag = h.Name+"/", 0o755, tar.TypeDir
		return t.WriteHeader(h)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, file)
	return err
}

// push sends images to the registry in their name.
func push(ctx context.Context, images v1.ImageIndex, named string) error {
	ref, err := name.ParseReference(named)
	if err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	if err := remote.WriteIndex(ref, images, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", named, err)
	}
	return nil
}
