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

// A Log waits for its read index.
type Log interface {
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// A Source is a log that also returns submissions. The error of Submission is of kind
// task.ErrNotFound if the submission is no longer stored.
type Source interface {
	Log
	Submission(ctx context.Context, seq uint64, id string) (task.Spec, error)
}

// A Projection is the parts of the store that a viewer reads. A Projection answers from
// memory.
type Projection struct {
	TaskProjection
	ListProjection
	VolumeProjection
	GroupProjection
	UploadProjection
	OutputProjection
	ClusterProjection
	CapacityProjection
}

// A TaskProjection answers for the tasks in the store.
type TaskProjection interface {
	TaskAnswer(user, id string) ([]byte, bool)
	Submission(user, id string) (seq uint64, ok bool)
	Owner(k task.Key) (user string, ok bool) // of a task or volume
}

// A VolumeProjection answers for the volumes in the store.
type VolumeProjection interface {
	VolumeAnswer(user, id string) ([]byte, bool)
	VolumeAnswers(q task.Query) (bodies [][]byte, next uint64)
	PendingMounts(volume string) (ids []string)
}

// A ClusterProjection reports for how long the API server has not answered; err is nil if the
// API server answers.
type ClusterProjection interface {
	ClusterLag() (age time.Duration, err error)
}

// A Viewer answers from the store after a read barrier. Only submissions are read from the
// log. A Viewer sends no request to Kubernetes.
type Viewer struct {
	log        Source
	projection Projection
	boot       maphash.Seed // seed of the ETags: each process has its own
	listCache  listCache
}

// NewViewer returns a viewer of projection, which must follow log.
func NewViewer(log Source, projection Projection) *Viewer {
	return &Viewer{log: log, projection: projection, boot: maphash.MakeSeed()}
}

// Task answers for one task of user; the error is of kind task.ErrNotFound if the user has no
// such task.
func (v *Viewer) Task(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	body, ok := v.projection.TaskAnswer(user, id)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoTask(id)
	}
	return v.answer(body, stale), nil
}

// Spec answers with the submission of one task of user, with its secrets redacted. The error
// is of kind task.ErrNotFound if the user has no such task or if the submission is no longer
// stored. Spec reads the log.
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

// Volume answers for one volume of user; the error is of kind task.ErrNotFound if the user has
// no such volume.
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

// PendingMounts returns the tasks that will mount a volume, but are not resolved in the log
// yet.
func (v *Viewer) PendingMounts(ctx context.Context, volume string) (ids []string) {
	v.log.WaitReadIndex(ctx) // best effort
	return v.projection.PendingMounts(volume)
}

// cursor returns the cursor of the next page, "" if there is none.
func cursor(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

// Owner returns the user of a task or volume; ok is false if it does not exist.
func (v *Viewer) Owner(ctx context.Context, k task.Key) (user string, ok bool) {
	v.log.WaitReadIndex(ctx) // best effort
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

// stale waits for the read index, and returns why and since when an answer may be stale; ""
// means that the answer is current.
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

// listed combines encoded answers to {"name":[...]}.
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
