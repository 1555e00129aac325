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

	"k8s-cli/test/testkit/must"
)

func gzipped(t *testing.T, entries ...*tar.Header) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		must.Succeed(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, _ = w.Write([]byte("evil"))
		}
	}
	must.Succeed(t, w.Close())
	must.Succeed(t, z.Close())
	return bytes.NewReader(b.Bytes())
}

func regular(name string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 4, Mode: 0o644}
}

func link(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

func hardLink(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

// TestLinksOfAnEarlierArchive checks that an archive cannot prepare a directory so that a later archive
// writes outside of its target.
func TestLinksOfAnEarlierArchive(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	home, target := filepath.Join(top, "home"), filepath.Join(top, "work", "results")
	must.Succeed(t, os.Mkdir(home, 0o700))
	dir := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }
	var left []string
	err := UnpackGzip(gzipped(t, dir("a/"), dir("a/b/"), link("a/b/l", "../../home"), hardLink("node-1", "a/b/l"), regular("f"), hardLink("g", "f")),
		target, false, func(name string) { left = append(left, name) })
	if err != nil || !slices.Equal(left, []string{"node-1"}) {
		t.Fatalf("%v, left out %q", err, left)
	}
	must.Succeed(t, os.Symlink(home, filepath.Join(target, "node-2")))
	if err := UnpackGzip(gzipped(t, regular("evil")), filepath.Join(target, "node-2"), true, fails(t)); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a directory that is a link: %v", err)
	}
	must.Succeed(t, os.Symlink(filepath.Join(home, "evil"), filepath.Join(target, "model.pt")))
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	must.Succeed(t, w.WriteHeader(regular("model.pt")))
	_, _ = w.Write([]byte("evil"))
	_ = w.Close()
	if err := Unpack(&plain, "model.pt", filepath.Join(target, "model.pt"), fails(t)); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a file that is a link: %v", err)
	}
	if found, _ := os.ReadDir(home); len(found) > 0 {
		t.Errorf("%v was written", found)
	}
}

// TestArchivesOfZeros checks the bound of what an archive unpacks to, by its headers.
func TestArchivesOfZeros(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Succeed(t, tar.NewWriter(z).WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: minUnpacked + 1, Mode: 0o644}))
	_ = z.Close()
	target := t.TempDir()
	if err := UnpackGzip(bytes.NewReader(b.Bytes()), target, true, fails(t)); err == nil || !strings.Contains(err.Error(), "contains files of more than") {
		t.Error(err)
	}
	if found, _ := os.ReadDir(target); len(found) > 0 {
		t.Errorf("%v was written", found)
	}
}

func TestExistingFilesStay(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "new", "target")
	archive := gzipped(t, regular("first"), &tar.Header{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o755}, regular("dir/file"))
	must.Succeed(t, UnpackGzip(archive, target, false, fails(t)))
	file := filepath.Join(target, "dir", "file")
	must.Write(t, file, "mine")
	must.Succeed(t, os.Remove(filepath.Join(target, "first")))
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
			must.Write(t, victim, "safe")
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
