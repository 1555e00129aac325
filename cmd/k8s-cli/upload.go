package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/localpath"
	"k8s-cli/cmd/k8s-cli/internal/pack"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// An uploader packs the local files that task files name, each of them once, and uploads
// the archives that the server does not have.
type uploader struct {
	screen *console.Console
	client *client.Client
	limits *task.UploadLimits       // nil before the first request for the limits
	packed map[string]*pack.Archive // by source: a path, or the URL and commit of a repository
	sent   map[string]bool          // SHA-256 sums of archives that the server had at the last check
	dirs   []string                 // directories to remove in close
}

func newUploader(screen *console.Console, c *client.Client) *uploader {
	return &uploader{screen: screen, client: c, packed: map[string]*pack.Archive{}, sent: map[string]bool{}}
}

// close removes the archives and the checked-out directories.
func (u *uploader) close() {
	for _, a := range u.packed {
		a.Remove()
	}
	for _, dir := range u.dirs {
		_ = os.RemoveAll(dir)
	}
}

// A submitResult is the result of one submission.
type submitResult struct {
	task.Submitted
	err error
}

// submitAll submits all jobs, several of them in one request. It returns the results in
// the order of the jobs, and the error that prevented further results.
func (u *uploader) submitAll(ctx context.Context, jobs []job) ([]submitResult, error) {
	if jobs[0].together {
		return u.submitTogether(ctx, jobs)
	}
	if len(jobs) == 1 {
		got, err := u.submit(ctx, jobs[0])
		return []submitResult{{got, err}}, nil
	}
	all, err := u.uploadAll(ctx, jobs)
	if err != nil {
		return nil, err
	}
	results, err := u.client.SubmitEach(ctx, all)
	answers := make([]submitResult, len(results))
	for i, r := range results {
		switch {
		case r.Code == http.StatusConflict && len(all[i].Uploads) > 0: // the server has deleted an upload since the check
			answers[i].Submitted, answers[i].err = u.submit(ctx, jobs[i])
		case r.Code != 0:
			answers[i].err = errors.New(r.Detail)
		default:
			answers[i].Submitted = task.NewSubmitted(r.ID, r.Warnings)
		}
	}
	return answers, err
}

// submitTogether submits the tasks of a pipeline or a job group, all or none. If the server has
// deleted an upload since the check, submitTogether uploads the files again and repeats the request
// once.
func (u *uploader) submitTogether(ctx context.Context, jobs []job) ([]submitResult, error) {
	items, err := u.uploadAll(ctx, jobs)
	if err != nil {
		return nil, err
	}
	send := u.client.SubmitChain
	if jobs[0].member.Name != "" {
		send = u.client.SubmitTogether
	}
	results, err := send(ctx, items)
	if errors.Is(err, task.ErrConflict) && len(u.packed) > 0 {
		clear(u.sent)
		if _, err := u.uploadAll(ctx, jobs); err != nil {
			return nil, err
		}
		results, err = send(ctx, items)
	}
	answers := make([]submitResult, len(results))
	for i, r := range results {
		answers[i].Submitted = task.NewSubmitted(r.ID, r.Warnings)
	}
	return answers, err
}

// uploadAll uploads the files of jobs and returns one item of a batch for each job.
func (u *uploader) uploadAll(ctx context.Context, jobs []job) ([]client.Item, error) {
	items := make([]client.Item, len(jobs))
	for i, j := range jobs {
		if err := u.upload(ctx, j.task); err != nil {
			return nil, about(j.about, err)
		}
		items[i] = client.Item{Spec: j.task, Membership: j.group, Item: j.member}
	}
	return items, nil
}

// submit submits a task, whose files must be packed. If the server has deleted an upload
// since the check, submit uploads the files again and repeats the request once.
func (u *uploader) submit(ctx context.Context, j job) (task.Submitted, error) {
	t := j.task
	if err := u.upload(ctx, t); err != nil {
		return task.Submitted{}, err
	}
	got, err := u.client.SubmitToGroup(ctx, j.group, t)
	if len(t.Uploads) == 0 || !errors.Is(err, task.ErrConflict) {
		return got, err
	}
	clear(u.sent)
	if again := u.upload(ctx, t); again != nil {
		return got, again
	}
	return u.client.SubmitToGroup(ctx, j.group, t)
}

// upload uploads the archives of a task that the server does not have.
func (u *uploader) upload(ctx context.Context, t task.Spec) error {
	for _, what := range slices.Sorted(maps.Keys(u.packed)) {
		a := u.packed[what]
		if u.sent[a.Sum] || !slices.Contains(t.Sums(), a.Sum) {
			continue
		}
		has, err := u.client.HasUpload(ctx, a.Sum)
		if err != nil {
			return err
		}
		if has {
			u.sent[a.Sum] = true
			continue
		}
		line := console.NewMeter(u.screen, "Uploading "+localpath.Shown(what))
		err = u.client.Upload(ctx, a.Sum, a.Size, func() (io.ReadCloser, error) {
			file, err := a.Open()
			return &countingReader{ReadCloser: file, read: func(done int64) { line.Show(done, a.Size) }}, err
		})
		line.Clear()
		if err != nil {
			return fmt.Errorf("upload %s: %w", localpath.Shown(what), err)
		}
		u.sent[a.Sum] = true
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

// pack returns t with uploads in place of local files and directories.
func (u *uploader) pack(ctx context.Context, t task.Spec) (task.Spec, error) {
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
	a, err := u.workdir(ctx, t)
	if err == nil && a != nil {
		t.Workdir, t.Git = task.WorkdirTarget, task.Git{}
		err = add("workdir", task.WorkdirTarget, a)
	}
	if err != nil {
		return t, err
	}
	for _, target := range slices.Sorted(maps.Keys(t.FileMounts)) {
		source, field := t.FileMounts[target], "file_mounts."+target
		a, err := u.path(ctx, field, source)
		if err == nil {
			err = add(field, localpath.TargetOf(target, source), a)
		}
		if err != nil {
			return t, err
		}
	}
	t.FileMounts, t.Uploads = nil, uploads
	return t, t.Validate()
}

// workdir packs the working directory. It returns nil if the working directory is in the
// image.
func (u *uploader) workdir(ctx context.Context, t task.Spec) (*pack.Archive, error) {
	switch {
	case t.Git.URL != "":
		return u.repository(ctx, t.Git)
	case t.Uploads[task.WorkdirTarget] != "":
		return nil, nil
	}
	if here, err := localpath.IsHere(t.Workdir); err != nil || !here {
		return nil, err
	}
	return u.path(ctx, "workdir", t.Workdir)
}

// repository checks out and packs a commit of a git repository.
func (u *uploader) repository(ctx context.Context, g task.Git) (*pack.Archive, error) {
	what := strings.TrimSpace(g.URL + " " + g.Ref)
	if a := u.packed[what]; a != nil {
		return a, nil
	}
	if _, err := u.limit(ctx); err != nil {
		return nil, err
	}
	line := console.NewMeter(u.screen, "Checking out "+what)
	line.Hurry() // git reports no progress
	line.Show(0, 0)
	dir, err := pack.Checkout(ctx, g)
	line.Clear()
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	u.dirs = append(u.dirs, dir)
	changed, err := pack.CommitTime(ctx, dir) // each checkout of a commit is the same archive
	if err != nil {
		return nil, fmt.Errorf("workdir: %w", err)
	}
	return u.archive(ctx, "workdir", what, dir, pack.Options{Tracked: true, Changed: changed})
}

// path packs a local file or directory.
func (u *uploader) path(ctx context.Context, field, source string) (*pack.Archive, error) {
	real, err := filepath.Abs(localpath.Expand(source))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if a := u.packed[real]; a != nil {
		return a, nil
	}
	return u.archive(ctx, field, real, real, pack.Options{})
}

func (u *uploader) archive(ctx context.Context, field, what, path string, o pack.Options) (*pack.Archive, error) {
	limit, err := u.limit(ctx)
	if err != nil {
		return nil, err
	}
	line := console.NewMeter(u.screen, "Packing "+localpath.Shown(what))
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
		u.screen.Warn("%s: skipped %s, which is not a file, directory or link", field, strings.Join(a.LeftOut, ", "))
	}
	u.packed[what] = a
	return a, nil
}

// limit returns the maximum size of an archive in bytes, or the reason why the server
// accepts no uploads.
func (u *uploader) limit(ctx context.Context) (int64, error) {
	if u.limits == nil {
		limits, err := u.client.UploadLimits(ctx)
		if err != nil {
			return 0, err
		}
		u.limits = &limits
	}
	return u.limits.MaxBytes, nil
}
