package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/deploy/image/sbom"
)

// systems lists the operating systems for which each program is released. The server has
// darwin for users who try the product on their own machines.
var systems = map[string][]string{
	"k8s-cli":        {"linux", "darwin", "windows"},
	"k8s-cli-server": {"linux", "darwin"},
}

// papers are the files of the checkout that every archive contains.
var papers = []string{"CHANGELOG.md", "LICENSE", "README.md"}

// archives writes an archive of a program for each platform, and the SPDX list of the
// program's modules.
func (r request) archives(ctx context.Context, name string, from origin) error {
	known, ok := systems[name]
	if !ok {
		return fmt.Errorf("--programs: %q is neither k8s-cli nor k8s-cli-server", name)
	}
	dir, err := os.MkdirTemp("", "k8s-cli-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // if RemoveAll fails, the directory remains among the temporary files
	common, err := r.common(ctx, name, dir, from)
	if err != nil {
		return err
	}
	var contents []sbom.Program
	for platform := range strings.SplitSeq(r.platforms, ",") {
		system, machine, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("--platforms: %q must have the form linux/amd64", platform)
		}
		if !slices.Contains(known, system) {
			continue
		}
		file := filepath.Join(dir, system, machine, name)
		if system == "windows" {
			file += ".exe"
		}
		if err := r.compile(ctx, name, system, machine, file, from); err != nil {
			return err
		}
		program, err := sbom.Read(file, from.version)
		if err != nil {
			return err
		}
		contents = append(contents, program)
		if name == "k8s-cli" {
			if err := r.wheel(ctx, from, "--program", file, "--platform", platform); err != nil {
				return err
			}
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files := append(slices.Clone(common), entry{filepath.Base(file), 0o755, content})
		title := strings.Join([]string{name, from.version, system, machine}, "_")
		if err := pack(filepath.Join(r.out, title), system == "windows", under(title, files), from.time); err != nil {
			return err
		}
	}
	if len(contents) == 0 {
		return nil
	}
	list := sbom.Of("", "", from.time, contents)
	return list.WriteFile(filepath.Join(r.out, name+"_"+from.version+".spdx.json"))
}

// common returns the files that are the same in the archives of a program for all
// platforms.
func (r request) common(ctx context.Context, name, dir string, from origin) ([]entry, error) {
	manual := filepath.Join(dir, "manual")
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^TestManual$", "./cmd/"+name, "-write", manual)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "SOURCE_DATE_EPOCH="+strconv.FormatInt(from.time.Unix(), 10))
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("write the manual of %s: %w\n%s", name, err, said)
	}
	all, err := tree(manual)
	if err == nil && len(all) == 0 {
		err = errors.New("there are no pages")
	}
	if err != nil {
		return nil, fmt.Errorf("write the manual of %s: %w", name, err)
	}
	for _, paper := range papers {
		content, err := os.ReadFile(filepath.Join(r.source, paper))
		if err != nil {
			return nil, err
		}
		all = append(all, entry{paper, 0o644, content})
	}
	return all, nil
}

// tree returns the files below dir.
func tree(dir string) (all []entry, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		all = append(all, entry{path, 0o644, content})
		return err
	})
	return all, err
}

// compile builds a static program. The program depends on the machine only by the version
// of Go.
func (r request) compile(ctx context.Context, name, system, machine, out string, from origin) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto",
		"-ldflags", "-s -w -buildid= -X k8s-cli/pkg/release.version="+from.version, "-o", out, "./cmd/"+name)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", name, system, machine, err, said)
	}
	return nil
}
