package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// flags are the flags of the compiler in make build: with the same flags, the server and
// these programs share the packages in the build cache of Go. The compiler writes no
// debug information, because the linker would strip it.
var flags = []string{"-trimpath", "-gcflags=all=-dwarf=false"}

// A target is a set of programs of one module below the source directory.
type target struct {
	module   string // the directory of the module
	packages []string
	out      string // a directory below the entry; the entry itself if empty
	tags     string
	ldflags  string
}

// build compiles the target into the builder's directory. The build cache of Go keeps
// every compiled package, so that an interrupted build continues with the next call.
func (k builder) build(ctx context.Context, t target) error {
	args := append([]string{"build", "-v"}, flags...)
	args = append(args, "-tags", t.tags, "-ldflags", "-s -w "+t.ldflags, "-o", filepath.Join(k.dir, t.out)+"/")
	k.log = io.MultiWriter(k.log, k.progress)
	return k.run(ctx, filepath.Join(k.source, t.module), nil, "go", append(args, t.packages...)...)
}

// uncompiled returns the packages of t that the build cache of Go lacks, with the sizes
// of their sources. It downloads the modules.
func (k builder) uncompiled(ctx context.Context, t target) (map[string]int64, error) {
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,Stale"}, flags...)
	args = append(append(args, "-tags", t.tags), t.packages...)
	list := k.command(ctx, filepath.Join(k.source, t.module), nil, "go", args...)
	var out bytes.Buffer
	list.Stdout, list.Stderr = &out, nil // the build repeats the errors
	if err := list.Run(); err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", t.module, err)
	}
	sizes := map[string]int64{}
	for d := json.NewDecoder(&out); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Stale           bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return sizes, nil
		} else if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", t.module, err)
		}
		if !p.Stale {
			continue
		}
		size := int64(1)
		for _, file := range p.GoFiles {
			if info, err := os.Stat(filepath.Join(p.Dir, file)); err == nil {
				size += info.Size()
			}
		}
		sizes[p.ImportPath] = size
	}
}
