package features

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// TestGoPrograms runs the programs in docs/go.md, each in a module of its own that imports the
// client.
func TestGoPrograms(t *testing.T) {
	t.Parallel()
	page := must.Read(t, filepath.Join(checkout, "docs/go.md"))
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	wants := [][]string{ // sorted
		{"completed <nil>", "hi"},
		{"rate-0.05 completed ", "rate-0.1 completed ", "rate-0.3 completed ", "rate-0.5 failed Error"},
	}
	if len(programs) != len(wants) {
		t.Fatalf("docs/go.md has %d programs, the test knows %d", len(programs), len(wants))
	}
	s := start(t)
	for i, want := range wants {
		t.Run(strings.Fields("first failures")[i], func(t *testing.T) {
			t.Parallel()
			got := strings.Split(strings.TrimSuffix(s.goProgram(t, programs[i][1]), "\n"), "\n")
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("output %q, want %q", got, want)
			}
		})
	}
}

// TestGoModule tests the client in a copy of the checkout with another module path. The flags are those
// of deploy/test.sh, so that only the packages of the copy are compiled anew.
func TestGoModule(t *testing.T) {
	t.Parallel()
	ctx, cancel := testkit.WithPatience(t.Context(), 15*time.Minute)
	defer cancel()
	for _, arguments := range [][]string{
		{"deploy/module.sh", "example.com/team/k8s-cli"},
		{"go", "-C", ".local/module", "test", "./pkg/client", "./test/fences"},
	} {
		cmd := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
		cmd.Dir = checkout
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath -gcflags=all=-dwarf=false")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", arguments, err, out)
		}
	}
}

// goProgram checks and runs a program outside of the checkout, and returns its output.
func (s *server) goProgram(t *testing.T, source []byte) string {
	t.Helper()
	directory, err := filepath.Abs(checkout)
	must.Succeed(t, err)
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(directory, "go.sum"))
	must.Succeed(t, err)
	must.Write(t, filepath.Join(dir, "main.go"), string(source))
	must.Write(t, filepath.Join(dir, "go.sum"), string(sums)) // so that the test needs no network
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	var out []byte
	for _, arguments := range [][]string{
		{"mod", "init", "example.com/program"},
		{"mod", "edit", "-require", "k8s-cli@v0.0.0", "-replace", "k8s-cli=" + directory},
		{"vet", "-mod=mod", "."},
		{"run", "-mod=mod", "."},
	} {
		cmd := exec.CommandContext(ctx, "go", arguments...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "K8S_CLI_API_URL="+s.url, "K8S_CLI_USER=ann@example.com", "XDG_CONFIG_HOME="+dir)
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	return string(out)
}
