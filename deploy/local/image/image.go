// Package image writes the container images of the local cluster as tarballs. The images
// contain programs of this machine, so the package needs no registry.
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

// Version changes whenever the content of an image changes.
const Version = "3"

// Pause is the name of the image that holds the namespaces of a pod.
const Pause = "k8s-cli.local/pause:1"

// Task is the name of an image with a shell and common tools.
const Task = "k8s-cli.local/task:1"

// Busybox is the name of the task image without bash.
const Busybox = "k8s-cli.local/busybox:1"

// StandIn is the name of the default image of the server. The cluster has no registry to
// pull this image from, so another image has its name: the task image with an additional
// layer that contains the Python of Debian.
const StandIn = "docker.io/library/python:3.13-slim"

// taskNames are all names of the task image. Prefer Task, because Kubernetes pulls an image
// with the tag "latest" at every start, unless the pod sets another pull policy.
var taskNames = []string{Task, "k8s-cli.local/task:latest"}

// An archive holds images with their names.
type archive map[name.Reference]v1.Image

// add adds an image with these layers and this config to the archive.
func (a archive) add(config v1.Config, names []string, layers ...v1.Layer) error {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return err
	}
	img, err = mutate.ConfigFile(img, configFile(img, config))
	if err != nil {
		return err
	}
	for _, n := range names {
		ref, err := name.NewTag(n)
		if err != nil {
			return err
		}
		a[ref] = img
	}
	return nil
}

// save writes the archive as a tarball. A layer that several images share is written once.
func (a archive) save(path string) error {
	return tarball.MultiRefWriteToFile(path, a)
}

// layer returns a layer that contains files.
func layer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	if err := pack(&packed, files); err != nil {
		return nil, fmt.Errorf("pack the layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	})
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
	path    string // a trailing slash means a directory
	link    string // target of a symbolic link
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
