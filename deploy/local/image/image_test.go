package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	if err := save(path, files, v1.Config{Cmd: []string{"/bin/tool"}}, Task, StandIn); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{Task, StandIn} {
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
