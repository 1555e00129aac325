package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root returns the directory of the checkout that the harness is run in.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s-cli").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// BuildServer builds k8s-cli-server into dir and returns its path. overlay gives
// the text of files that are taken in place of those of the checkout, by paths
// below its root.
func BuildServer(ctx context.Context, dir string, overlay map[string]string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range overlay {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("build: %w", err)
		}
		replace[filepath.Join(root, name)] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return goBuild(ctx, root, dir, "k8s-cli-server", "k8s-cli/cmd/k8s-cli-server", "-overlay", list)
}

// BuildNATS builds nats-server into dir, at the version of go.mod, and returns
// its path.
func BuildNATS(ctx context.Context, dir string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	return goBuild(ctx, root, dir, "nats-server", "github.com/nats-io/nats-server/v2")
}

func goBuild(ctx context.Context, root, dir, name, pkg string, flags ...string) (string, error) {
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", path}, flags...), pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}
