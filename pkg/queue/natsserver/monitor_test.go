package natsserver

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path, by := filepath.Join(dir, "file"), filepath.Join(dir, "anew")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyOver(path, by, 0o640); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || os.SameFile(before, after) || after.Mode().Perm() != 0o640 {
		t.Errorf("%v, %+v", err, after)
	}
	if raw, err := os.ReadFile(path); string(raw) != "content" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
	for _, missing := range [][2]string{{filepath.Join(dir, "none"), by}, {path, filepath.Join(dir, "none", "anew")}} {
		if err := copyOver(missing[0], missing[1], 0o600); err == nil {
			t.Errorf("copied %q", missing)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("files %v, %v", left, err)
	}
}
