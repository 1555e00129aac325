package features

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s-cli/test/testkit"
)

// TestDemo plays the session that README.md shows.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	record := exec.CommandContext(ctx, "go", "run", "./test/demo", "-bin", os.Getenv(testkit.EnvPrograms),
		"-url", s.url, "-key", "1ms", "-limit", "10m", "-out", filepath.Join(t.TempDir(), "demo"))
	record.Dir = "../.."
	record.Env = append(os.Environ(), "K8S_CLI_INSECURE_HTTP=true")
	if out, err := record.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
