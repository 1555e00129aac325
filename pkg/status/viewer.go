package status

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"k8s-cli/pkg/task"
)

// A Log knows when this pod stands at its end.
type Log interface {
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// A Source is a log that knows what was submitted in its entries. The error is of
// kind task.ErrNotFound if that is not known any more.
type Source interface {
	Log
	Submission(ctx context.Context, seq uint64, id string) (task.Spec, error)
}

// A Projection is the parts of the store that a viewer reads. They answer from
// memory.
type Projection struct {
	TaskProjection
	VolumeProjection
	UploadProjection
	ClusterProjection
}

// A TaskProjection answers what the store knows of tasks.
type TaskProjection interface {
	TaskAnswer(user, id string) ([]byte, bool)
	TaskAnswers(q task.Query) (bodies [][]byte, next uint64)
	TaskVersion(q task.Query) [2]uint64 // is another one when those may be
	Submission(user, id string) (seq uint64, ok bool)
	Owner(k task.Key) (user string, ok bool) // of a task or volume
}

// A VolumeProjection answers what the store knows of volumes.
type VolumeProjection interface {
	VolumeAnswer(user, id string) ([]byte, bool)
	VolumeAnswers(q task.Query) (bodies [][]byte, next uint64)
	PendingMounts(volume string) (ids []string)
}

// A ClusterProjection reports for how long the API server has not answered; err is
// nil if it does.
type ClusterProjection interface {
	ClusterLag() (age time.Duration, err error)
}

// A Viewer answers from the store, once it holds all that was stored before
// the question; only what was submitted is in the log alone. It never asks
// Kubernetes.
type Viewer struct {
	log        Source
	projection Projection
	boot       maphash.Seed // of the ETags: another process has others
	listCache  listCache
}

// NewViewer returns a viewer of store, which follows log.
func NewViewer(log Source, projection Projection) *Viewer {
	return &Viewer{log: log, projection: projection, boot: maphash.MakeSeed()}
}

// Task answers for one task of user; the error is of kind task.ErrNotFound if
// the user has no such task.
func (v *Viewer) Task(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	body, ok := v.projection.TaskAnswer(user, id)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoTask(id)
	}
	return v.answer(body, stale), nil
}

// Spec answers with one task of user as it was submitted, its secrets redacted;
// the error is of kind task.ErrNotFound if the user has no such task, or if that is
// not known any more. The log is asked, not memory.
func (v *Viewer) Spec(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	seq, ok := v.projection.Submission(user, id)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoTask(id)
	}
	t, err := v.log.Submission(ctx, seq, id)
	if err != nil {
		return task.Answer{Stale: stale}, err
	}
	body, err := task.Marshal(t)
	if err != nil {
		return task.Answer{Stale: stale}, fmt.Errorf("encode the submission of task %s: %w", id, err)
	}
	return v.answer(body, stale), nil
}

// Tasks answers with a list, newest first. Of an answer whose ETag the caller
// knows there need not be a body.
func (v *Viewer) Tasks(ctx context.Context, q task.Query, known func(etag string) bool) task.Answer {
	stale := v.stale(ctx)
	version := v.projection.TaskVersion(q) // before the answers, which may be newer: then the next version is another one
	a, ok := v.listCache.get(q, version)
	if !ok || a.Body == nil && !known(a.ETag) {
		bodies, next := v.projection.TaskAnswers(q)
		a = v.answer(listed("tasks", bodies), "")
		a.Next = cursor(next)
		v.listCache.put(q, version, a)
	}
	a.Stale = stale
	return a
}

// Volume answers for one volume of user; the error is of kind task.ErrNotFound
// if the user has no such volume.
func (v *Viewer) Volume(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	body, ok := v.projection.VolumeAnswer(user, id)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoVolume(id)
	}
	return v.answer(body, stale), nil
}

// Volumes answers with a list, newest first.
func (v *Viewer) Volumes(ctx context.Context, q task.Query) task.Answer {
	stale := v.stale(ctx)
	bodies, next := v.projection.VolumeAnswers(q)
	a := v.answer(listed("volumes", bodies), stale)
	a.Next = cursor(next)
	return a
}

// PendingMounts returns the tasks that will mount a volume and of which the log does not
// say so yet.
func (v *Viewer) PendingMounts(ctx context.Context, volume string) (ids []string) {
	v.log.WaitReadIndex(ctx) // as far as it is to be had
	return v.projection.PendingMounts(volume)
}

// cursor returns what a list says of where the next page begins, "" if there is
// none.
func cursor(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

// Owner returns whose a task or volume is; ok is false if there is none.
func (v *Viewer) Owner(ctx context.Context, k task.Key) (user string, ok bool) {
	v.log.WaitReadIndex(ctx) // as far as it is to be had
	return v.projection.Owner(k)
}

func (v *Viewer) answer(body []byte, stale string) task.Answer { return tagged(v.boot, body, stale) }

func tagged(boot maphash.Seed, body []byte, stale string) task.Answer {
	return task.Answer{Body: body, ETag: etag(maphash.Bytes(boot, body)), Stale: stale}
}

func etag(sum uint64) string {
	tag := strconv.AppendUint(append(make([]byte, 0, 24), `W/"`...), sum, 36)
	return string(append(tag, '"'))
}

// stale waits until the store is as new as the question, and says what it may
// lack if that is not to be had.
func (v *Viewer) stale(ctx context.Context) string {
	if age, ok := v.log.WaitReadIndex(ctx); !ok {
		return staleness("log", age)
	}
	if age, err := v.projection.ClusterLag(); err != nil {
		return staleness("cluster", age)
	}
	return ""
}

func staleness(what string, age time.Duration) string {
	return fmt.Sprintf("%s; age=%d", what, int(age.Seconds()))
}

// listed puts ready answers together to {"name":[...]}.
func listed(name string, bodies [][]byte) []byte {
	size := len(name) + len(bodies) + 8
	for _, b := range bodies {
		size += len(b)
	}
	var all bytes.Buffer
	all.Grow(size)
	all.WriteString(`{"` + name + `":[`)
	for i, b := range bodies {
		if i > 0 {
			all.WriteByte(',')
		}
		all.Write(b)
	}
	all.WriteString(`]}`)
	return all.Bytes()
}
