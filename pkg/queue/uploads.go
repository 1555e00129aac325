package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// Uploads are objects of a JetStream object store of their own: each is stored in
// parts, so that none is ever in memory as a whole and no more is on its way to
// the store at once than it takes.
const (
	uploadBucket = "UPLOADS"
	uploadStream = "OBJ_" + uploadBucket
	uploadShare  = 0.1     // the most of what a disk has for an embedded store that they may take
	partSize     = 2 << 20 // bytes of a part; the last one may have fewer

	partTimeout = time.Minute // for one part to be stored, or read
)

// Uploads keeps what users upload.
type Uploads struct {
	js     jetstream.JetStream
	bucket jetstream.ObjectStore
}

// OpenUploads finds or creates the place for uploads.
func (l *Log) OpenUploads(ctx context.Context) (*Uploads, error) {
	disk, err := budgetOf(ctx, l.js, l.config.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the uploads: %w", err)
	}
	limit := disk.share(uploadShare)
	if disk < 0 {
		if limit, err = limitOf(ctx, l.js, uploadStream); err != nil {
			return nil, fmt.Errorf("open the uploads: %w", err)
		}
	}
	bucket, err := l.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket:      uploadBucket,
		Description: "files that users upload for their tasks",
		Storage:     jetstream.FileStorage,
		Replicas:    max(l.config.Replicas, 1),
		MaxBytes:    limit,
	})
	if err != nil {
		return nil, fmt.Errorf("open the uploads: %w", err)
	}
	return &Uploads{js: l.js, bucket: bucket}, nil
}

// Keep stores all that r gives under a name that nothing has yet, and returns
// how many bytes that is. The error is r's, or of kind task.ErrUnavailable if
// it cannot be stored; then nothing stays.
func (u *Uploads) Keep(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	part := make([]byte, partSize)
	for n := 0; ; n++ {
		read, err := io.ReadFull(r, part)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if last {
			err = nil
		}
		if err == nil && read > 0 {
			size += int64(read)
			err = u.store(ctx, partName(name, n), part[:read])
		}
		switch {
		case err != nil:
			_ = u.Drop(ctx, name) // if that fails, whoever looks for what nobody needs finds it
			return 0, err
		case last:
			return size, nil
		}
	}
}

func partName(name string, n int) string { return fmt.Sprintf("%s.%d", name, n) }

func (u *Uploads) store(ctx context.Context, name string, part []byte) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	_, err := u.bucket.Put(ctx, jetstream.ObjectMeta{
		Name: name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize},
	}, bytes.NewReader(part))
	switch {
	case isFull(err):
		return task.Error(task.ErrUnavailable, "there is no room for it: uploads that no task needs go some time after their last use, or an operator makes room")
	case err != nil:
		return task.Error(task.ErrUnavailable, fmt.Sprintf("it cannot be stored at present: %v", err))
	}
	return nil
}

// Stored reports whether all of an upload of this size is there.
func (u *Uploads) Stored(ctx context.Context, name string, size int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if size == 0 {
		return true, nil
	}
	_, err := u.bucket.GetInfo(ctx, partName(name, parts(size)-1)) // the last that was stored
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, task.Error(task.ErrUnavailable, fmt.Sprintf("look for upload %s: %v", name, err))
	}
	return true, nil
}

func parts(size int64) int { return int((size + partSize - 1) / partSize) }

// Read returns a reader of an upload of this size. It has one part in memory at
// a time. Its error is of kind task.ErrNotFound if a part is not there.
func (u *Uploads) Read(ctx context.Context, name string, size int64) io.Reader {
	return &upload{store: u, ctx: ctx, name: name, parts: parts(size)}
}

// An upload is read part by part.
type upload struct {
	store *Uploads
	ctx   context.Context // as long as it is read
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
	raw, err := u.bucket.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, task.Error(task.ErrNotFound, "upload "+name+" is not stored any more")
	}
	if err != nil {
		return nil, task.Error(task.ErrUnavailable, fmt.Sprintf("read upload %s: %v", name, err))
	}
	return raw, nil
}

// List returns when the last part of each upload was stored, those of which only
// some parts are there included.
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

// nameOf returns the name of the upload that a part is of.
func nameOf(part *jetstream.ObjectInfo) string {
	return part.Name[:max(strings.LastIndexByte(part.Name, '.'), 0)]
}

func (u *Uploads) objects(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	objects, err := u.bucket.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	return objects, nil
}

// Drop removes what is stored of these uploads. What is not there is no error.
func (u *Uploads) Drop(ctx context.Context, names ...string) error {
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
		if err := purgeObject(ctx, u.js, uploadBucket, o); err != nil {
			return fmt.Errorf("remove upload %s: %w", o.Name, err)
		}
	}
	return nil
}
