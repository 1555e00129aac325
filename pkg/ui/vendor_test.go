package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// The files of other projects are those that vendor.sha256 pins, and their licenses are beside
// them.
func TestVendoredFilesArePinned(t *testing.T) {
	const dir = "static/vendor"
	text, err := embedded.ReadFile(dir + "/vendor.sha256")
	must.Succeed(t, err)
	pinned := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && !strings.HasPrefix(name, "npm/") {
			pinned[name] = sum
		}
	}
	licenses, err := embedded.ReadFile(dir + "/LICENSES.md")
	must.Succeed(t, err)
	files, err := fs.Glob(embedded, dir+"/*.[jc]s*")
	if err != nil || len(files) == 0 || len(files) != len(pinned) {
		t.Fatalf("%v, %v; %d files are pinned", files, err, len(pinned))
	}
	for _, file := range files {
		body, err := embedded.ReadFile(file)
		must.Succeed(t, err)
		name, sum := filepath.Base(file), sha256.Sum256(body)
		if pinned[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s differs from vendor.sha256: run make ui-vendor", name)
		}
		if !strings.Contains(string(licenses), name) {
			t.Errorf("LICENSES.md does not name %s", name)
		}
	}
}

func TestBuildNeedsNoNode(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	must.Succeed(t, err)
	bin := filepath.Join(strings.TrimSpace(string(root)), "bin")
	if _, err := exec.LookPath(filepath.Join(bin, "node")); err == nil {
		t.Skip("Node is in the directory of Go")
	}
	build := exec.CommandContext(t.Context(), filepath.Join(bin, "go"), "build", ".")
	build.Env = append(os.Environ(), "PATH="+bin, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
