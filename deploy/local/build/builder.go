package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A builder is where one component is made: a directory aside that becomes the
// cache entry when all went well.
type builder struct {
	source string    // the directory of this module
	cache  string    // the finished entries, to build upon
	dir    string    // where the results go
	log    io.Writer // what the tools say

	progress *progress // of all components
}

func (k builder) out(name string) string { return filepath.Join(k.dir, name) }

// buildPackage builds a command of this module.
func (k builder) buildPackage(ctx context.Context, name string) error {
	args := append([]string{"build"}, flags...)
	return k.run(ctx, k.source, nil, "go", append(args, "-ldflags", "-s -w", "-o", k.out(name), "./"+name)...)
}

// install builds commands of published modules, each pkg with its version.
func (k builder) install(ctx context.Context, tags string, pkgs ...string) error {
	args := []string{"install", "-trimpath", "-ldflags", "-s -w", "-tags", tags}
	return k.run(ctx, k.dir, []string{"GOBIN=" + k.dir}, "go", append(args, pkgs...)...)
}

func (k builder) run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	if err := k.command(ctx, dir, env, name, args...).Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}

// command returns a command that writes to the log.
func (k builder) command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "DEBIAN_FRONTEND=noninteractive")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = k.log, k.log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends its own children
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// sourceKey names a cache entry after the files of dirs and what else goes into
// it, so that a change to any of them makes a new one.
func sourceKey(prefix string, dirs []string, more ...string) (string, error) {
	var files []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", more)
	for _, file := range files { // Glob sorts
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			continue // another program, with a separate key
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the source of %s: %w", prefix, err)
		}
		fmt.Fprintf(sum, "%s %d\n", filepath.Base(file), len(content))
		sum.Write(content)
	}
	if len(files) == 0 {
		return "", fmt.Errorf("there is no source in %s; run this command in its own directory", dirs[0])
	}
	return prefix + "-" + hex.EncodeToString(sum.Sum(nil)[:4]), nil
}
