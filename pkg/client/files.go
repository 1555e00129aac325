package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s-cli/pkg/client/pack"
	"k8s-cli/pkg/task"
)

// UploadFiles packs and uploads the local files of t: a workdir that is a local directory, git and
// file_mounts. Relative paths are below the current directory. UploadFiles returns t with uploads in
// place of the local files, for Submit or any other submission. Archives that the server already
// has are not uploaded.
func (c *Client) UploadFiles(ctx context.Context, t task.Spec) (task.Spec, error) {
	p := NewPacker(c)
	defer p.Close()
	t, err := p.Pack(ctx, t)
	if err != nil {
		return t, err
	}
	return t, p.Upload(ctx, t)
}

// A Step is a step of the work of a Packer.
type Step string

// The steps of a Packer.
const (
	CheckingOut Step = "Checking out"
	Packing     Step = "Packing"
	Uploading   Step = "Uploading"
)

// A Progress shows the progress of a step.
type Progress interface {
	Show(done, total int64) // in bytes; a total of 0 means unknown
	Clear()                 // ends the step
}

type noProgress struct{}

func (noProgress) Show(int64, int64) {}
func (noProgress) Clear()            {}

// A Packer packs the local files that tasks name, each of them once, and uploads the archives that
// the server does not have. A Packer is not safe for concurrent use.
type Packer struct {
	Begin func(s Step, source string) Progress // called at the beginning of each step
	Warn  func(text string)                    // called with warnings about files that are left out

	client *Client
	limits *task.UploadLimits       // nil before the first request for the limits
	packed map[string]*pack.Archive // by source: a path, or the URL and commit of a repository
	sent   map[string]bool          // SHA-256 sums of archives that the server had at the last check
	dirs   []string                 // directories to remove in Close
}

// NewPacker returns a Packer that shows nothing. The caller closes the Packer.
func NewPacker(c *Client) *Packer {
	return &Packer{
		Begin:  func(Step, string) Progress { return noProgress{} },
		Warn:   func(string) {},
		client: c, packed: map[string]*pack.Archive{}, sent: map[string]bool{},
	}
}

// Close removes the archives and the checked-out directories.
func (p *Packer) Close() {
	for _, a := range p.packed {
		a.Remove()
	}
	for _, dir := range p.dirs {
		_ = os.RemoveAll(dir)
	}
}

// Forget makes Upload check again which archives the server has.
func (p *Packer) Forget() { clear(p.sent) }

// Pack returns t with uploads in place of local files and directories.
func (p *Packer) Pack(ctx context.Context, t task.Spec) (task.Spec, error) {
	uploads := maps.Clone(t.Uploads)
	add := func(field, target string, a *pack.Archive) error {
		if uploads == nil {
			uploads = map[string]string{}
		}
		if uploads[target] != "" {
			return fmt.Errorf("%s: another entry also writes to %s", field, target)
		}
		uploads[target] = a.Sum
		return nil
	}
	a, err := p.workdir(ctx, t)
	if err == nil && a != nil {
		t.Workdir, t.Git = task.WorkdirTarget, task.Git{}
		err = add("workdir", task.WorkdirTarget, a)
	}
	if err != nil {
		return t, err
	}
	for _, target := range slices.Sorted(maps.Keys(t.FileMounts)) {
		source, field := t.FileMounts[target], "file_mounts."+target
		a, err := p.path(ctx, field, source)
		if err == nil {
			err = add(field, targetOf(target, source), a)
		}
		if err != nil {
			return t, err
		}
	}
	t.FileMounts, t.Uploads = nil, uploads
	return t, t.Validate()
}

// Upload uploads the archives of a packed task that the server does not have.
func (p *Packer) Upload(ctx context.Context, t task.Spec) error {
	for _, what := range slices.Sorted(maps.Keys(p.packed)) {
		a := p.packed[what]
		if p.sent[a.Sum] || !slices.Contains(t.Sums(), a.Sum) {
			continue
		}
		has, err := p.client.HasUpload(ctx, a.Sum)
		if err != nil {
			return err
		}
		if has {
			p.sent[a.Sum] = true
			continue
		}
		line := p.Begin(Uploading, what)
		err = p.client.Upload(ctx, a.Sum, a.Size, func() (io.ReadCloser, error) {
			file, err := a.Open()
			return &countingReader{ReadCloser: file, read: func(done int64) { line.Show(done, a.Size) }}, err
		})
		line.Clear()
		if err != nil {
			return fmt.Errorf("upload %s: %w", ShownPath(what), err)
		}
		p.sent[a.Sum] = true
	}
	return nil
}

// A countingReader reports how many bytes were read.
type countingReader struct {
	io.ReadCloser
	done int64
	read func(done int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.done += int64(n)
	c.read(c.done)
	return n, err
}

// workdir packs the working directory. It returns nil if the working directory is in the
// image.
func (p *Packer) workdir(ctx context.Context, t task.Spec) (*pack.Archive, error) {
	switch {
	case t.Git.URL != "":
		return p.repository(ctx, t.Git)
	case t.Uploads[task.WorkdirTarget] != "":
		return nil, nil
	}
	if here, err := isLocalDir(t.Workdir); err != nil || !here {
		return nil, err
	}
	return p.path(ctx, "workdir", t.Workdir)
}

// repository checks out and packs a commit of a git repository.
func (p *Packer) repository(ctx context.Context, g task.Git) (*pack.Archive, error) {
	what := strings.TrimSpace(g.URL + " " + g.Ref)
	if a := p.packed[what]; a != nil {
		return a, nil
	}
	if _, err := p.limit(ctx); err != nil {
		return nil, err
	}
	line := p.Begin(CheckingOut, what)
	line.Show(0, 0) // git reports no progress
	dir, err := pack.Checkout(ctx, g)
	line.Clear()
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	p.dirs = append(p.dirs, dir)
	changed, err := pack.CommitTime(ctx, dir) // each checkout of a commit is the same archive
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	return p.archive(ctx, "workdir", what, dir, pack.Options{Tracked: true, Changed: changed})
}

// path packs a local file or directory.
func (p *Packer) path(ctx context.Context, field, source string) (*pack.Archive, error) {
	real, err := filepath.Abs(expandHome(source))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if a := p.packed[real]; a != nil {
		return a, nil
	}
	return p.archive(ctx, field, real, real, pack.Options{})
}

func (p *Packer) archive(ctx context.Context, field, what, path string, o pack.Options) (*pack.Archive, error) {
	limit, err := p.limit(ctx)
	if err != nil {
		return nil, err
	}
	line := p.Begin(Packing, what)
	o.Limit, o.Progress = limit, line.Show
	a, err := pack.Pack(ctx, path, o)
	line.Clear()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %s does not exist on this machine", field, path)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(a.LeftOut) > 0 {
		p.Warn(fmt.Sprintf("%s: skipped %s, which is not a file, directory or link", field, strings.Join(a.LeftOut, ", ")))
	}
	p.packed[what] = a
	return a, nil
}

// limit returns the maximum size of an archive in bytes, or the reason why the server
// accepts no uploads.
func (p *Packer) limit(ctx context.Context) (int64, error) {
	if p.limits == nil {
		limits, err := p.client.UploadLimits(ctx)
		if err != nil {
			return 0, err
		}
		p.limits = &limits
	}
	return p.limits.MaxBytes, nil
}
