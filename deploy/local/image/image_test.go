package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestAnImageHasItsNamesAndFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	files := []file{
		{path: "tmp/", mode: 0o1777},
		{path: "bin/tool", mode: 0o755, content: []byte("#!/bin/sh\n")},
		{path: "bin/alias", link: "tool", mode: 0o777},
	}
	packed, err := layer(files)
	if err != nil {
		t.Fatal(err)
	}
	images, names := archive{}, []string{Task, "k8s-cli.local/task:latest"}
	if err := images.add(v1.Config{Cmd: []string{"/bin/tool"}}, names, packed); err != nil {
		t.Fatal(err)
	}
	if err := images.save(path); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		tag, err := name.NewTag(n)
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(path, &tag)
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		if got := contents(t, img); got != "tmp/ bin/tool bin/alias" {
			t.Errorf("%s holds %s", n, got)
		}
	}
}

func contents(t *testing.T, img v1.Image) string {
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
	var names []string
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestOnlyStaticProgramsAreTaken(t *testing.T) {
	if _, err := static(os.Args[0]); err != nil && !strings.Contains(err.Error(), "not a static program") {
		t.Errorf("this test as a program: %v", err)
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	if _, err := static(shell); err == nil {
		t.Errorf("%s needs libraries, yet it was taken", shell)
	}
	text := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := static(text); err == nil {
		t.Error("a script was taken for a program")
	}
}

func TestThePythonLayerHasWhatProgramsNeed(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{
		"usr/bin/python3.11", "usr/bin/dpkg", "usr/lib/python3.11/os.py", "usr/lib/python3.11/test/x.py",
		"usr/share/doc/x", "usr/lib/python3/dist-packages/numpy/core/tests/x.py", "etc/python3.11/sitecustomize.py", "etc/cron.daily/x",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"usr/bin/python3": "python3.11", "lib": "usr/lib"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := python(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		if !strings.HasSuffix(f.path, "/") {
			got = append(got, f.path)
		}
	}
	slices.Sort(got)
	want := []string{
		"bin/python3", "bin/python3.11", "etc/python3.11/sitecustomize.py", "lib",
		"usr/lib/python3.11/os.py", "usr/local/bin/python", "usr/local/bin/python3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the layer holds %q, want %q", got, want)
	}
}
