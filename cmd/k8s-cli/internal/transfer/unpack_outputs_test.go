package transfer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func gzipped(t *testing.T, entries ...*tar.Header) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = w.Write([]byte("evil"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func regular(name string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 4, Mode: 0o644}
}

func link(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

func TestExistingFilesStay(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "new", "target")
	archive := gzipped(t, regular("first"), &tar.Header{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o755}, regular("dir/file"))
	if err := UnpackGzip(archive, target, false, fails(t)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(target, "dir", "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(target, "first")); err != nil {
		t.Fatal(err)
	}
	for _, overwrite := range []bool{false, true} {
		_, _ = archive.Seek(0, 0)
		err := UnpackGzip(archive, target, overwrite, fails(t))
		got, _ := os.ReadFile(file)
		_, missing := os.Stat(filepath.Join(target, "first"))
		if (err == nil) != overwrite || (string(got) == "evil") != overwrite || (missing == nil) != overwrite || err != nil && !strings.Contains(err.Error(), "--force") {
			t.Errorf("overwrite %t: %v, the file has %q, the other file: %v", overwrite, err, got, missing)
		}
	}
}

// TestHostileOutputs checks that no archive of outputs writes or links anything outside of the target.
func TestHostileOutputs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		entries []*tar.Header
		skipped []string // nil means that UnpackGzip fails
	}{
		{"parent", []*tar.Header{regular("../victim")}, nil},
		{"parent below", []*tar.Header{regular("a/../../victim")}, nil},
		{"absolute", []*tar.Header{regular("/tmp/victim")}, nil},
		{"through a link", []*tar.Header{link("d", "."), regular("d/victim")}, nil},
		{"through a link out", []*tar.Header{link("d", ".."), regular("d/victim")}, []string{"d"}},
		{"link out", []*tar.Header{link("l", "../victim")}, []string{"l"}},
		{"absolute link", []*tar.Header{link("l", "/etc/passwd")}, []string{"l"}},
		{"hard link out", []*tar.Header{{Name: "l", Typeflag: tar.TypeLink, Linkname: "../victim"}}, []string{"l"}},
		{"link through a link", []*tar.Header{link("d", "."), link("l", "d/..")}, []string{"l"}},
		{"the same file twice", []*tar.Header{regular("f"), {Name: "f", Typeflag: tar.TypeLink, Linkname: "f"}}, []string{}},
		{"device", []*tar.Header{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, []string{"null"}},
	} {
		for _, overwrite := range []bool{false, true} {
			home := t.TempDir()
			victim := filepath.Join(home, "victim")
			if err := os.WriteFile(victim, []byte("safe"), 0o600); err != nil {
				t.Fatal(err)
			}
			var skipped []string
			err := UnpackGzip(gzipped(t, tt.entries...), filepath.Join(home, "target"), overwrite, func(file string) { skipped = append(skipped, file) })
			if (err != nil) != (tt.skipped == nil) || !slices.Equal(skipped, tt.skipped) {
				t.Errorf("%s: %v, left out %q", tt.name, err, skipped)
			}
			if got, err := os.ReadFile(victim); err != nil || string(got) != "safe" {
				t.Errorf("%s: outside of the target: %q, %v", tt.name, got, err)
			}
			if left, _ := os.ReadDir(home); len(left) > 2 {
				t.Errorf("%s: outside of the target: %v", tt.name, left)
			}
		}
	}
	if err := UnpackGzip(bytes.NewReader([]byte("no archive")), t.TempDir(), false, fails(t)); err == nil {
		t.Error("something else than an archive is unpacked")
	}
}
