// Package image writes the container images of the local cluster as tarballs,
// from programs of this machine: no registry is asked.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Version changes whenever the content of an image would.
const Version = "1"

// Pause is the image that holds a pod's namespaces.
const Pause = "k8s-cli.local/pause:1"

// Task is an image with a shell and the usual small tools.
const Task = "k8s-cli.local/task:1"

// StandIn is the server's default image. There is no registry to pull it from,
// so in this cluster the task image answers to its name. It has no Python.
const StandIn = "docker.io/library/python:3.13-slim"

// taskNames are all names of the task image. Kubernetes asks a registry for
// "latest" at every start unless the pod says otherwise: prefer Task.
var taskNames = []string{Task, "k8s-cli.local/task:latest", StandIn}

// save writes one layer and its config as an image with the given names.
func save(path string, files []file, config v1.Config, names ...string) error {
	var archive bytes.Buffer
	if err := pack(&archive, files); err != nil {
		return fmt.Errorf("pack the layer of %s: %w", names[0], err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	})
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	img, err = mutate.ConfigFile(img, configFile(img, config))
	if err != nil {
		return err
	}
	refs := map[name.Reference]v1.Image{}
	for _, n := range names {
		ref, err := name.NewTag(n)
		if err != nil {
			return err
		}
		refs[ref] = img
	}
	return tarball.MultiRefWriteToFile(path, refs)
}

func configFile(img v1.Image, config v1.Config) *v1.ConfigFile {
	f, err := img.ConfigFile()
	if err != nil {
		f = &v1.ConfigFile{}
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Config = "linux", runtime.GOARCH, config
	return f
}

// A file is an entry of a layer: a directory, a link or a regular file.
type file struct {
	path    string // a trailing slash makes a directory
	link    string // where a symbolic link points
	mode    int64
	content []byte
}

func pack(w io.Writer, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), Linkname: f.link, Typeflag: tar.TypeReg}
		switch {
		case f.link != "":
			h.Typeflag = tar.TypeSymlink
		case f.path[len(f.path)-1] == '/':
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}
