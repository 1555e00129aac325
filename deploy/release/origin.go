package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An origin describes the commit of a release.
type origin struct {
	version string    // semantic version, without a leading v
	time    time.Time // SOURCE_DATE_EPOCH or the time of the commit; all files of the release have this time
}

// semantic matches versions that both Go and Helm accept.
var semantic = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// origin returns the origin of the checkout. A commit with a tag such as v1.2.3 has the
// version in the tag. Any other commit has version 0.0.0-HASH. The version of a changed
// checkout ends with -dirty.
func (r request) origin(ctx context.Context) (origin, error) {
	var o origin
	commit, err := output(ctx, r.source, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return o, err
	}
	tag, err := output(ctx, r.source, "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*")
	if o.version = strings.TrimPrefix(tag, "v"); err != nil {
		o.version = "0.0.0-" + commit
	}
	if !semantic.MatchString(o.version) {
		return o, fmt.Errorf("version %q is not semantic; name the tag v1.2.3 or v1.2.3-rc.1", o.version)
	}
	changed, err := output(ctx, r.source, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return o, err
	}
	if changed != "" {
		o.version += "-dirty"
	}
	at := os.Getenv("SOURCE_DATE_EPOCH")
	if at == "" {
		if at, err = output(ctx, r.source, "git", "log", "-1", "--format=%ct"); err != nil {
			return o, err
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return o, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	o.time = time.Unix(seconds, 0).UTC()
	return o, nil
}

// output runs a program in dir and returns its standard output.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
