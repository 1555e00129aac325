package transfer

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

func TestDirectoriesArriveUnchanged(t *testing.T) {
	t.Parallel()
	source, target := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, text := range map[string]string{"a": "one", "b/c/d": "two", "b/empty": ""} {
		file := filepath.Join(source, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Write(t, file, text)
	}
	must.Succeed(t, os.Symlink("c/d", filepath.Join(source, "b", "link")))
	var archive bytes.Buffer
	must.Succeed(t, Pack(&archive, source, "x", fails(t)))
	must.Succeed(t, Unpack(&archive, "x", target, fails(t)))
	for name, want := range map[string]string{"a": "one", "b/c/d": "two", "b/empty": "", "b/link": "two"} {
		if got, err := os.ReadFile(filepath.Join(target, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(target, "a")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of a: %v, %v", info, err)
	}
}

// TestTargetThatEndsWithASlash checks that a directory is created, and that a file needs one.
func TestTargetThatEndsWithASlash(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"file", "directory"} {
		path := filepath.Join(t.TempDir(), "x")
		var err error
		if source == "file" {
			err = os.WriteFile(path, []byte("text"), 0o600)
		} else {
			err = os.Mkdir(path, 0o755)
		}
		must.Succeed(t, err)
		var archive bytes.Buffer
		must.Succeed(t, Pack(&archive, path, "x", fails(t)))
		target := filepath.Join(t.TempDir(), "new") + "/"
		err = Unpack(&archive, "x", target, fails(t))
		if source == "directory" && err != nil || source == "file" && (err == nil || !strings.Contains(err.Error(), "is not a directory on this machine")) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func fails(t *testing.T) func(string) {
	return func(file string) { t.Errorf("%s was left out", file) }
}

// TestHostileArchives checks that no archive writes, links or overwrites anything outside of the
// target.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	dir := &tar.Header{Name: "x/", Typeflag: tar.TypeDir, Mode: 0o755}
	for _, tt := range []struct {
		name    string
		entries []*tar.Header
		skipped []string // nil means that Unpack fails
	}{
		{"parent", []*tar.Header{dir, regular("x/../victim")}, nil},
		{"absolute", []*tar.Header{dir, regular("/tmp/victim")}, nil},
		{"other name", []*tar.Header{dir, regular("xx/victim")}, nil},
		{"first entry elsewhere", []*tar.Header{regular("../victim")}, nil},
		{"link instead of a file", []*tar.Header{link("x", "/etc/passwd")}, nil},
		{"through a link", []*tar.Header{dir, link("x/d", "."), regular("x/d/victim")}, nil},
		{"dir through a link", []*tar.Header{dir, link("x/d", "."), {Name: "x/d/e/", Typeflag: tar.TypeDir, Mode: 0o755}}, nil},
		{"over a link", []*tar.Header{dir, link("x/l", "../victim"), regular("x/l")}, []string{"x/l"}},
		{"link out", []*tar.Header{dir, link("x/l", "../victim")}, []string{"x/l"}},
		{"absolute link", []*tar.Header{dir, link("x/l", "/etc/passwd")}, []string{"x/l"}},
		{"hard link out", []*tar.Header{dir, {Name: "x/l", Typeflag: tar.TypeLink, Linkname: "../victim"}}, []string{"x/l"}},
		{"device", []*tar.Header{dir, {Name: "x/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, []string{"x/null"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			victim := filepath.Join(home, "victim")
			must.Write(t, victim, "safe")
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			for _, h := range tt.entries {
				must.Succeed(t, w.WriteHeader(h))
				if h.Size > 0 {
					_, _ = w.Write([]byte("evil"))
				}
			}
			_ = w.Close()
			var skipped []string
			err := Unpack(&archive, "x", filepath.Join(home, "target"), func(file string) { skipped = append(skipped, file) })
			if (err != nil) != (tt.skipped == nil) || !slices.Equal(skipped, tt.skipped) {
				t.Errorf("%v, left out %q", err, skipped)
			}
			if got, err := os.ReadFile(victim); err != nil || string(got) != "safe" {
				t.Errorf("outside of the target: %q, %v", got, err)
			}
			if left, _ := os.ReadDir(home); len(left) > 2 {
				t.Errorf("outside of the target: %v", left)
			}
		})
	}
}
