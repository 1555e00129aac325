package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task/problem"
)

const (
	// blobShare bounds the blobs of one kind, as a portion of the disk budget of an embedded
	// store. The log and its snapshots have three quarters of the budget.
	blobShare = 0.05

	evictShare = 0.1 // portion of the limit that is freed when the limit is reached, the oldest blobs first
)

// A Kind is one purpose of blobs.
type Kind struct {
	Bucket      string
	Name        string // singular noun for errors, such as "archived log"
	Description string // description of the bucket in the tools of NATS
}

var logsKind = Kind{"LOGS", "archived log", "ends of the logs of tasks whose pods are gone"}

// A Store stores blobs that may be lost: when the limit is reached, the oldest blobs are
// removed.
type Store struct {
	kind   Kind
	js     jetstream.JetStream
	bucket *Bucket

	evicting sync.Mutex // held during an eviction
}

// OpenStore finds or creates the bucket of a kind. The blobs of the kind take at most limit
// bytes together.
func OpenStore(ctx context.Context, js jetstream.JetStream, s streams.Settings, kind Kind, limit int64) (*Store, error) {
	return (&Files{js: js, settings: s}).openStore(ctx, kind, limit)
}

// OpenLogArchive finds or creates the bucket of archived logs, which take at most limit bytes
// together.
func (f *Files) OpenLogArchive(ctx context.Context, limit int64) (*Store, error) {
	return f.openStore(ctx, logsKind, limit)
}

func (f *Files) openStore(ctx context.Context, kind Kind, limit int64) (*Store, error) {
	disk, err := f.settings.Budget(ctx, f.js)
	if err != nil {
		return nil, fmt.Errorf("open the %ss: %w", kind.Name, err)
	}
	if disk >= 0 {
		limit = min(limit, disk.Portion(blobShare))
	}
	bucket, err := f.open(ctx, jetstream.ObjectStoreConfig{
		Bucket:      kind.Bucket,
		Description: kind.Description,
		MaxBytes:    limit,
		Compression: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the %ss: %w", kind.Name, err)
	}
	return &Store{kind: kind, js: f.js, bucket: bucket}, nil
}

// Store stores a blob and replaces a blob of the same name. If the bucket is full, Store
// removes the oldest blobs first.
func (s *Store) Store(ctx context.Context, name string, about map[string]string, blob []byte) error {
	err := s.put(ctx, name, about, blob)
	if IsFull(err) {
		if err = s.evictOldest(ctx, uint64(len(blob))); err == nil {
			err = s.put(ctx, name, about, blob)
		}
	}
	if err != nil {
		return fmt.Errorf("store %s %s: %w", s.kind.Name, name, err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, name string, about map[string]string, blob []byte) error {
	_, err := s.bucket.Put(ctx, jetstream.ObjectMeta{Name: name, Metadata: about}, bytes.NewReader(blob))
	return err
}

// IsFull reports whether a stream rejected a message because the stream or its disk is full
// (nats-server 2.15, server/errors.json: JSStreamStoreFailedF, JSStorageResourcesExceededErr,
// JSInsufficientResourcesErr).
func IsFull(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (e.ErrorCode == 10077 || e.ErrorCode == 10047 || e.ErrorCode == 10023)
}

// evictOldest removes the oldest blobs until evictShare of the limit plus more bytes are free.
func (s *Store) evictOldest(ctx context.Context, more uint64) error {
	s.evicting.Lock()
	defer s.evicting.Unlock()
	stream, err := s.js.Stream(ctx, s.bucket.stream())
	if err != nil {
		return fmt.Errorf("inspect the %ss: %w", s.kind.Name, err)
	}
	info := stream.CachedInfo()
	limit := uint64(max(info.Config.MaxBytes, 0)) //nolint:gosec // no less than 0
	goal := limit - min(uint64(evictShare*float64(limit))+more, limit)
	if info.State.Bytes <= goal {
		return nil // another goroutine has freed the space
	}
	if err := s.bucket.RemoveTorn(ctx, time.Now()); err != nil {
		return fmt.Errorf("remove incomplete %ss: %w", s.kind.Name, err)
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(objects, func(a, b *jetstream.ObjectInfo) int {
		return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range objects {
		if err := s.remove(ctx, o); err != nil {
			return err
		}
		if info, err = stream.Info(ctx); err != nil {
			return fmt.Errorf("inspect the %ss: %w", s.kind.Name, err)
		}
		if info.State.Bytes <= goal {
			break
		}
	}
	return nil
}

// Get returns a blob and its metadata. The error is of kind problem.NotFound if the blob does
// not exist.
func (s *Store) Get(ctx context.Context, name string) (about map[string]string, blob []byte, err error) {
	info, err := s.bucket.Info(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil, problem.New(problem.NotFound, s.kind.Name+" "+name+" not found")
	}
	if err == nil {
		blob, err = s.bucket.Bytes(ctx, info)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", s.kind.Name, name, err)
	}
	return info.Metadata, blob, nil
}

// Open returns a reader of a blob. The reader does not verify the digest of the blob. The
// error is of kind problem.NotFound if the blob does not exist.
func (s *Store) Open(ctx context.Context, name string) (io.Reader, error) {
	info, err := s.bucket.Info(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, problem.New(problem.NotFound, s.kind.Name+" "+name+" not found")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", s.kind.Name, name, err)
	}
	return s.bucket.Reader(ctx, info), nil
}

// List returns the metadata of each blob by name.
func (s *Store) List(ctx context.Context) (map[string]map[string]string, error) {
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(objects))
	for _, o := range objects {
		all[o.Name] = o.Metadata
	}
	return all, nil
}

func (s *Store) objects(ctx context.Context) ([]*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	objects, err := s.bucket.ListFromAnyReplica(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the %ss: %w", s.kind.Name, err)
	}
	return objects, nil
}

// Remove removes a blob. Remove returns nil if the blob does not exist.
func (s *Store) Remove(ctx context.Context, name string) error {
	info, err := s.bucket.Info(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", s.kind.Name, name, err)
	}
	return s.remove(ctx, info)
}

func (s *Store) remove(ctx context.Context, o *jetstream.ObjectInfo) error {
	if err := s.bucket.Remove(ctx, o); err != nil {
		return fmt.Errorf("remove %s %s: %w", s.kind.Name, o.Name, err)
	}
	return nil
}
