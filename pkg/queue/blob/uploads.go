package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Uploads and outputs are objects in object stores of their own. Each upload is stored in parts of
// one message, so that an upload or a download holds one part in memory.
const (
	uploadBucket = "UPLOADS"
	uploadShare  = 0.1 // largest portion of the disk budget of an embedded store that uploads may take
	outputBucket = "OUTPUTS"
	outputShare  = 0.05      // largest portion that outputs may take
	partSize     = 256 << 10 // bytes of a part; the last part may be shorter

	partTimeout = time.Minute            // for storing or reading one part
	partPause   = 250 * time.Millisecond // between attempts to read a part
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
	return &Uploads{bucket, task.Error(task.ErrUnavailable, full)}, nil
}

// Store stores the content of r under an unused name and returns the number of bytes. The
// error is the error of r, or of kind task.ErrUnavailable if the content cannot be stored;
// Store then removes the parts again. The buffer of a part grows as bytes arrive.
func (u *Uploads) Store(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	var part bytes.Buffer
	for n := 0; ; n++ {
		part.Reset()
		read, err := io.CopyN(&part, r, partSize)
		last := errors.Is(err, io.EOF)
		if last {
			err = nil
		}
		if err == nil && read > 0 {
			size += read
			err = u.put(ctx, partName(name, n), part.Bytes())
		}
		switch {
		case err != nil:
			if size > 0 {
				_ = u.Remove(ctx, name) // parts that stay after an error are removed by Sweep
			}
			return 0, err
		case last:
			return size, nil
		}
	}
}

func partName(name string, n int) string { return fmt.Sprintf("%s.%d", name, n) }

func (u *Uploads) put(ctx context.Context, name string, part []byte) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	err := u.bucket.putChunk(ctx, name, part)
	switch {
	case IsFull(err):
		return u.full
	case err != nil:
		return task.Error(task.ErrUnavailable, fmt.Sprintf("the upload cannot be stored at present: %v", err))
	}
	return nil
}

// Exists reports whether an upload of this size is stored completely.
func (u *Uploads) Exists(ctx context.Context, name string, size int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	if size == 0 {
		return true, nil
	}
	_, err := u.bucket.Info(ctx, partName(name, parts(size)-1)) // the part that was stored last
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, task.Error(task.ErrUnavailable, fmt.Sprintf("check upload %s: %v", name, err))
	}
	return true, nil
}

func parts(size int64) int { return int((size + partSize - 1) / partSize) }

// Open returns a reader of an upload of this size. The reader holds one part in memory. The
// error is of kind task.ErrNotFound if a part does not exist.
func (u *Uploads) Open(ctx context.Context, name string, size int64) io.Reader {
	return &upload{store: u, ctx: ctx, name: name, parts: parts(size)}
}

// An upload reads one stored upload, one part at a time.
type upload struct {
	store *Uploads
	ctx   context.Context // for the lifetime of the reader
	name  string
	parts int
	next  int
	part  bytes.Reader
}

func (u *upload) Read(p []byte) (int, error) {
	for u.part.Len() == 0 {
		if u.next == u.parts {
			return 0, io.EOF
		}
		raw, err := u.store.part(u.ctx, partName(u.name, u.next))
		if err != nil {
			return 0, err
		}
		u.part.Reset(raw)
		u.next++
	}
	return u.part.Read(p)
}

func (u *Uploads) part(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	for {
		raw, err := u.read(ctx, name)
		switch {
		case err == nil:
			return raw, nil
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return nil, task.Error(problem.UploadNotFound, "upload "+name+" is no longer stored")
		case errors.Is(err, jetstream.ErrDigestMismatch):
			return nil, task.Error(task.ErrUnavailable, fmt.Sprintf("read upload %s: %v", name, err))
		}
		select { // NATS may elect a leader or become reachable again
		case <-time.After(partPause):
		case <-ctx.Done():
			return nil, task.Error(task.ErrUnavailable, fmt.Sprintf("read upload %s: %v", name, err))
		}
	}
}

// read returns a part with a single attempt.
func (u *Uploads) read(ctx context.Context, name string) ([]byte, error) {
	info, err := u.bucket.Info(ctx, name)
	if err != nil {
		return nil, err
	}
	return u.bucket.Bytes(ctx, info)
}

// List returns when the last part of each upload was stored, including incomplete uploads.
func (u *Uploads) List(ctx context.Context) (map[string]time.Time, error) {
	objects, err := u.objects(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]time.Time{}
	for _, o := range objects {
		if name := nameOf(o); all[name].Before(o.ModTime) {
			all[name] = o.ModTime
		}
	}
	return all, nil
}

// nameOf returns the name of the upload that a part belongs to.
func nameOf(part *jetstream.ObjectInfo) string {
	return part.Name[:max(strings.LastIndexByte(part.Name, '.'), 0)]
}

func (u *Uploads) objects(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	objects, err := u.bucket.ListFromAnyReplica(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	return objects, nil
}

// Remove removes the stored parts of these uploads. Remove returns nil if no part exists.
func (u *Uploads) Remove(ctx context.Context, names ...string) error {
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	objects, err := u.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !gone[nameOf(o)] {
			continue
		}
		if err := u.bucket.Remove(ctx, o); err != nil {
			return fmt.Errorf("remove upload %s: %w", o.Name, err)
		}
	}
	return nil
}
