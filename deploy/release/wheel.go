package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// wheel writes a wheel of the Python client. The arguments name the program that the wheel
// contains, if it contains one.
func (r request) wheel(ctx context.Context, from origin, arguments ...string) error {
	script := filepath.Join(r.source, "clients", "python", "wheel.py")
	cmd := exec.CommandContext(ctx, "python3", append([]string{script, "--out", r.out, "--version", from.version}, arguments...)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(from.time.Unix(), 10), "PYTHONDONTWRITEBYTECODE=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("write a wheel of the Python client: %w\n%s", err, said)
	}
	return nil
}
