package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task/problem"
)

// Uploads and outputs are objects in object stores of their own. An upload or a download holds one
// chunk in memory.
const (
	uploadBucket = "UPLOADS"
	uploadShare  = 0.1 // largest portion of the disk budget of an embedded store that uploads may take
	outputBucket = "OUTPUTS"
	outputShare  = 0.05 // largest portion that outputs may take

	readTimeout = time.Minute            // for reading one chunk
	readPause   = 250 * time.Millisecond // between attempts to read a chunk
)

// Uploads stores the files that users upload, or the outputs of tasks.
type Uploads struct {
	bucket *Bucket
	full   error // error of Store if the bucket is full
}

// OpenUploadStore finds or creates the bucket of uploads.
func (f *Files) OpenUploadStore(ctx context.Context) (*Uploads, error) {
	return f.openUploads(ctx, uploadShare, 0, jetstream.ObjectStoreConfig{Bucket: uploadBucket, Description: "files that users upload for their tasks"},
		"the upload store is full; wait until unused uploads expire, or ask the administrator to free space")
}

// OpenOutputStore finds or creates the bucket of the outputs of tasks, which take at most limit bytes
// together.
func (f *Files) OpenOutputStore(ctx context.Context, limit int64) (*Uploads, error) {
	return f.openUploads(ctx, outputShare, limit, jetstream.ObjectStoreConfig{Bucket: outputBucket, Description: "outputs of tasks"},
		"the store for outputs is full; tasks that leave the history free space, or ask the administrator to raise --max-outputs-total")
}

// openUploads finds or creates a bucket that takes at most limit bytes, 0 for no limit, and of an
// embedded store at most this share of the disk budget.
func (f *Files) openUploads(ctx context.Context, share float64, limit int64, want jetstream.ObjectStoreConfig, full string) (*Uploads, error) {
	disk, err := f.settings.Budget(ctx, f.js)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", want.Bucket, err)
	}
	if want.MaxBytes = disk.Portion(share); limit > 0 && (want.MaxBytes <= 0 || limit < want.MaxBytes) {
		want.MaxBytes = limit
	}
	bucket, err := f.open(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", want.Bucket, err)
	}
	return &Uploads{bucket, problem.New(problem.Unavailable, full)}, nil
}

// Store stores the content of r under an unused name and returns the number of bytes. The
// error is the error of r, or of kind problem.Unavailable if the content cannot be stored.
func (u *Uploads) Store(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	from := &source{Reader: r}
	info, err := u.bucket.Put(ctx, jetstream.ObjectMeta{Name: name}, from)
	switch {
	case from.err != nil:
		return 0, from.err
	case IsFull(err):
		return 0, u.full
	case err != nil:
		return 0, problem.New(problem.Unavailable, fmt.Sprintf("the upload cannot be stored at present: %v", err))
	}
	return int64(info.Size), nil //nolint:gosec // no object has 2^63 bytes
}

// A source remembers the error of a reader, io.EOF excepted.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Exists reports whether an upload is stored.
func (u *Uploads) Exists(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	_, err := u.bucket.Info(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, problem.New(problem.Unavailable, fmt.Sprintf("check upload %s: %v", name, err))
	}
	return true, nil
}

// Open returns a reader of an upload. The error of a read is of kind problem.NotFound if the upload
// does not exist.
func (u *Uploads) Open(ctx context.Context, name string) io.Reader {
	return &upload{bucket: u.bucket, ctx: ctx, name: name, sum: sha256.New()}
}

// An upload reads one stored upload.
type upload struct {
	bucket *Bucket
	ctx    context.Context // for the lifetime of the reader
	name   string
	info   *jetstream.ObjectInfo // nil before the first read
	chunks io.Reader
	sum    hash.Hash
}

// Read reads again when NATS does not answer: NATS may elect a leader or become reachable again.
func (u *upload) Read(p []byte) (int, error) {
	ctx, cancel := context.WithTimeout(u.ctx, readTimeout)
	defer cancel()
	for {
		n, err := u.read(ctx, p)
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return n, err
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return 0, problem.New(problem.UploadNotFound, "upload "+u.name+" is no longer stored")
		}
		if !errors.Is(err, jetstream.ErrDigestMismatch) {
			select {
			case <-time.After(readPause):
				continue
			case <-ctx.Done():
			}
		}
		return 0, problem.New(problem.Unavailable, fmt.Sprintf("read upload %s: %v", u.name, err))
	}
}

// read reads with a single attempt.
func (u *upload) read(ctx context.Context, p []byte) (int, error) {
	if u.info == nil {
		info, err := u.bucket.Info(ctx, u.name)
		if err != nil {
			return 0, err
		}
		u.info, u.chunks = info, u.bucket.Reader(u.ctx, info)
	}
	n, err := u.chunks.Read(p)
	_, _ = u.sum.Write(p[:n]) // a hash never returns an error
	switch {
	case errors.Is(err, io.EOF) && u.info.Digest != digest(u.sum.Sum(nil)):
		return 0, jetstream.ErrDigestMismatch
	case errors.Is(err, errIncomplete): // perhaps because the upload was removed
		if _, gone := u.bucket.Info(ctx, u.name); errors.Is(gone, jetstream.ErrObjectNotFound) {
			return 0, gone
		}
	}
	return n, err
}

// List returns the names of all uploads. The list may be out of date.
func (u *Uploads) List(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	objects, err := u.bucket.ListFromAnyReplica(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names, nil
}

// RemoveTorn removes what uploads left that broke off.
func (u *Uploads) RemoveTorn(ctx context.Context, now time.Time) error {
	return u.bucket.RemoveTorn(ctx, now)
}

// Remove removes these uploads. Remove returns nil if they do not exist.
func (u *Uploads) Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		info, err := u.bucket.Info(ctx, name)
		if err == nil {
			err = u.bucket.Remove(ctx, info)
		}
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return fmt.Errorf("remove upload %s: %w", name, err)
		}
	}
	return nil
}
