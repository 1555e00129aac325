package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"k8s-cli/deploy/image/sbom"
)

var june = origin{version: "v1.2.3", revision: "0123abcd", url: "https://example.com/k8s-cli", created: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}

// made returns an image whose program is a text file.
func made(t *testing.T) v1.ImageIndex {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	var all []platformImage
	for _, machine := range []string{"amd64", "arm64"} {
		img, err := recipes[server].image(server, program, machine, june)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, platformImage{machine, img})
	}
	return index(all)
}

func TestTheSameSourcesGiveTheSameBytes(t *testing.T) {
	var archives, lists [][]byte
	for range 2 {
		r := request{source: "../..", program: server, platforms: "linux/amd64"}
		images, err := r.build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "image.tar")
		if err := archive(images.image, "example.com/server:v1", out); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, content)
		contents := images.contents("example.com/server:v1")
		if err := contents.WriteFile(out); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, list)
		for _, want := range []string{"k8s-cli", "stdlib", "github.com/gofiber/fiber/v2", "k8s.io/client-go", authoritiesPath} {
			if !slices.ContainsFunc(contents.Packages, func(p sbom.Package) bool { return p.Name == want && p.VersionInfo != "" }) {
				t.Errorf("the list of contents lacks %s", want)
			}
		}
	}
	if !bytes.Equal(lists[0], lists[1]) {
		t.Error("the lists of contents of two builds differ")
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds of one checkout differ")
	}
}

func TestAnImageHoldsAProgramAndNoShell(t *testing.T) {
	images := made(t)
	manifests, err := images.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifests.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64" {
		t.Errorf("it is for %s", got)
	}
	img, err := images.Image(manifests.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	files := contents(t, img)
	names := slices.Sorted(maps.Keys(files))
	if got, want := strings.Join(names, " "), "etc/ etc/group etc/passwd etc/ssl/ etc/ssl/certs/ etc/ssl/certs/ca-certificates.crt k8s-cli-server tmp/"; got != want {
		t.Errorf("it holds %s, want %s", got, want)
	}
	if n := authorities(t, files["etc/ssl/certs/ca-certificates.crt"]); n < 50 {
		t.Errorf("it trusts %d authorities", n)
	}
}

// contents returns the files of an image by name.
func contents(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func authorities(t *testing.T, text []byte) (n int) {
	t.Helper()
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return n
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		n, text = n+1, rest
	}
}

func TestAnImageSaysWhatItIsAndIsNotRoot(t *testing.T) {
	images := made(t)
	manifests, err := images.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := images.Image(manifests.Manifests[1].Digest)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/k8s-cli-server"}) {
		t.Errorf("user %q runs %q", c.User, c.Entrypoint)
	}
	if !file.Created.Equal(june.created) || file.Architecture != "arm64" {
		t.Errorf("made at %s for %s", file.Created, file.Architecture)
	}
	for label, want := range map[string]string{
		"title": "k8s-cli-server", "version": "v1.2.3", "revision": "0123abcd", "source": "https://example.com/k8s-cli", "created": "2026-06-01T12:00:00Z", "licenses": "Apache-2.0",
	} {
		if got := file.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s = %q, want %q", label, got, want)
		}
	}
}

func TestAnArchiveBearsItsName(t *testing.T) {
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := archive(made(t), "k8s-cli.local/server:v1", out); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, out, dir)
	images, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := images.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got := manifest.Manifests[0].Annotations["io.containerd.image.name"]; got != "k8s-cli.local/server:v1" {
		t.Errorf("containerd would call it %q", got)
	}
	inner, err := images.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := inner.IndexManifest(); err != nil || len(all.Manifests) != 2 {
		t.Errorf("it holds %d images, want 2: %v", len(all.Manifests), err)
	}
}

func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for archive := tar.NewReader(f); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s has a time or an owner", h.Name)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, content, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageIsPushedForAllPlatforms(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	named := strings.TrimPrefix(server.URL, "http://") + "/team/server:v1"
	if err := push(t.Context(), made(t), named); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(named)
	if err != nil {
		t.Fatal(err)
	}
	images, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := images.IndexManifest(); err != nil || len(all.Manifests) != 2 {
		t.Errorf("the registry has %d images, want 2: %v", len(all.Manifests), err)
	}
}

func TestOnlyAPublicAddressIsNamed(t *testing.T) {
	for remote, want := range map[string]string{
		"https://ann:secret@example.com/team/k8s-cli.git": "https://example.com/team/k8s-cli",
		"git@example.com:team/k8s-cli.git":                "",
		"/home/ann/k8s-cli":                               "",
	} {
		if got := public(remote); got != want {
			t.Errorf("public(%q) = %q, want %q", remote, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"no name", "archive --out x", "--name: is empty"},
		{"no file", "archive --name a:b", "--out: is empty"},
		{"another system", "push --name a:b --platforms linux/amd64,windows/amd64", `--platforms: "windows/amd64"`},
		{"no programs", "sbom --source .", "sbom: name the programs"},
		{"an argument", "push --name a:b more", `"more" is not a flag`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse(%q) = %v, want %q in it", tt.args, err, tt.want)
			}
		})
	}
	r := request{program: "shell"}
	if _, err := r.build(t.Context()); err == nil || !strings.Contains(err.Error(), `"shell" is not one of`) {
		t.Errorf("build = %v", err)
	}
}
