package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/operations"
	"github.com/rclone/rclone/fs/sync"
)

// singleFile is the name of the file that the CLI uploads if a source is a file instead of a directory.
const singleFile = ".k8s-cli-file"

// prepare creates a bucket that does not exist if the task says so, copies the files of the task to the
// bucket, and returns the number and the size of the objects.
func (b bucket) prepare(ctx context.Context, remote fs.Fs, getenv func(string) string) (objects, size int64, err error) {
	objects, size, err = measure(ctx, remote)
	if b.Create && isMissing(err) {
		if err = b.create(ctx, getenv); err == nil {
			objects, size, err = 0, 0, nil
		}
	}
	if err != nil || len(b.Files) == 0 {
		return objects, size, err
	}
	if err := b.upload(ctx, remote, getenv); err != nil {
		return 0, 0, err
	}
	return measure(ctx, remote)
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrorDirNotFound) || statusOf(err) == http.StatusNotFound
}

// create creates the bucket. If another node has just created the bucket, create returns no error.
func (b bucket) create(ctx context.Context, getenv func(string) string) error {
	settings := b.settings(getenv)
	delete(settings, "no_check_bucket") // otherwise rclone creates no buckets
	delete(settings, "no_check_container")
	remote, err := b.openWith(ctx, settings)
	if err == nil {
		err = remote.Mkdir(ctx, "")
	}
	if err == nil {
		fmt.Fprintln(os.Stdout, "created "+b.URL)
	}
	return err
}

// upload copies the files that the bucket does not have, or has with other content. The times of the
// files are not those of the user's machine, so upload compares checksums.
func (b bucket) upload(ctx context.Context, remote fs.Fs, getenv func(string) string) error {
	ctx, config := fs.AddConfig(ctx)
	config.CheckSum = true
	fmt.Fprintln(os.Stdout, "copying the files of the task to "+b.URL)
	for _, below := range slices.Sorted(maps.Keys(b.Files)) {
		if err := b.uploadTo(ctx, remote, below, getenv); err != nil {
			return err
		}
	}
	return nil
}

// uploadTo copies the files for a path in the bucket.
func (b bucket) uploadTo(ctx context.Context, remote fs.Fs, below string, getenv func(string) string) error {
	dir := b.Files[below]
	local, err := fs.NewFs(ctx, dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, singleFile)); err == nil {
		if below == "" {
			return permanent{fmt.Errorf("the source for %s is a file; write a list with the file, or name the directory that contains the file", b.URL)}
		}
		return operations.CopyFile(ctx, remote, local, below, singleFile)
	}
	if below != "" {
		inner := b
		inner.Root = path.Join(b.Root, below)
		if remote, err = inner.open(ctx, getenv); err != nil {
			return err
		}
	}
	return sync.CopyDir(ctx, remote, local, false)
}
