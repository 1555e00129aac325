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

// Root returns the root directory of the checkout in which the harness runs.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s-cli").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// BuildServer builds k8s-cli-server into dir and returns its path. overlay maps paths below
// the root of the checkout to a text that replaces the file.
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
	path := filepath.Join(dir, "k8s-cli-server")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "-overlay", list, "k8s-cli/cmd/k8s-cli-server")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build k8s-cli-server: %w\n%s", err, out)
	}
	return path, nil
}
