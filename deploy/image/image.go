package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is a user and a group without an account on any machine. It is a number because
// the kubelet cannot verify that a user given by name is not root.
const user = "65532:65532"

// image returns an image with one layer, which holds the program, and with its
// configuration.
func (r recipe) image(name, program, machine string, from origin) (v1.Image, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	packed, err := layer(name, content)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", name, err)
	}
	img, err := mutate.Append(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1),
		mutate.Addendum{Layer: packed, History: v1.History{CreatedBy: "deploy/image", Created: v1.Time{Time: from.created}}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", machine, v1.Time{Time: from.created}
	file.Config = v1.Config{
		Entrypoint:   []string{"/" + name},
		Env:          []string{"PATH=/", "HOME=/"},
		User:         user,
		WorkingDir:   "/",
		Labels:       r.labelled(from),
		ExposedPorts: map[string]struct{}{},
	}
	for _, port := range r.ports {
		file.Config.ExposedPorts[port] = struct{}{}
	}
	return mutate.ConfigFile(img, file)
}

func (r recipe) labelled(from origin) map[string]string {
	all := maps.Clone(r.labels)
	all["org.opencontainers.image.version"] = from.version
	all["org.opencontainers.image.created"] = from.created.Format(time.RFC3339)
	for label, value := range map[string]string{"revision": from.revision, "source": from.url} {
		if value != "" {
			all["org.opencontainers.image."+label] = value
		}
	}
	return all
}

// layer returns a layer with the program, the certificates of public authorities, the
// name of the user, and a directory for temporary files.
func layer(name string, program []byte) (v1.Layer, error) {
	var raw bytes.Buffer
	t := tar.NewWriter(&raw)
	for _, f := range []struct {
		path    string
		mode    int64
		content []byte
	}{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte("nonroot:x:65532:\n")},
		{"etc/passwd", 0o644, []byte("nonroot:x:65532:65532::/:/\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		{name, 0o755, program},
		{"tmp/", 0o1777, nil},
	} {
		h := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, ModTime: time.Unix(0, 0)}
		if f.path[len(f.path)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// roots returns the public authorities in Mozilla's list, in the version in go.mod. It
// omits authorities that are trusted only for a limited time, because a PEM file cannot
// express the limit.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // Write of a Buffer returns no error
		}
	}
	return all.Bytes()
}

// A platformImage is the image for one architecture.
type platformImage struct {
	machine string
	v1.Image
}

// index returns an index of the images for all platforms.
func index(images []platformImage) v1.ImageIndex {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		all = mutate.AppendManifests(all, mutate.IndexAddendum{
			Add:        image.Image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: image.machine}},
		})
	}
	return all
}
