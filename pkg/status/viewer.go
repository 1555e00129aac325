package status

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/pkg/task/usage"
)

// A Log waits for its read index.
type Log interface {
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// A Source is a log that also returns submissions. The error of Submission is of kind
// problem.NotFound if the submission is no longer stored.
type Source interface {
	Log
	Submission(ctx context.Context, seq uint64, id string) (task.Spec, error)
}

// A Projection is what a viewer reads of a cache.Store. A Projection answers from memory.
type Projection interface {
	TaskAnswer(user, id string, have cache.Encoded) (a cache.Answer, ok bool)
	TaskAnswers(l query.List, have cache.Encoded, visit func(cache.Answer)) query.Page
	TaskRows(l query.List) (rows []overview.Row, p query.Page)
	TaskVersion(l query.List) [2]uint64 // changes whenever TaskAnswers or TaskRows may change
	Submission(user, id string) (seq uint64, ok bool)
	Owner(k task.Key) (user string, ok bool) // of a task or volume

	VolumeAnswer(user, id string) (v task.VolumeView, ok bool)
	VolumeAnswers(q task.Query) (views []task.VolumeView, next uint64)
	PendingMounts(volume string) (ids []string)

	Group(user, name string) (g group.Group, ok bool)
	Groups(q task.Query) (all []group.Group, next uint64)
	UsageReport(q usage.Query) usage.Report
	Summary(user string, all bool) overview.Summary
	SummaryVersion(user string, all bool) [2]uint64
	Capacity() overview.Capacity // of the nodes of the cluster
	CapacityVersion() [2]uint64

	Upload(user, sum string) (task.UploadRecord, bool)
	TaskUpload(id, sum string) (task.UploadRecord, bool)
	OutputRecord(id string) (r *task.Record, used int64, ok bool)

	ClusterLag() (age time.Duration, err error) // for how long the API server has not answered; err is nil if it answers
}

// A Viewer answers from the store after a read barrier. Only submissions are read from the
// log. A Viewer sends no request to Kubernetes.
type Viewer struct {
	log        Source
	projection Projection
	renderer   renderer
	taskCache  taskCache
	boot       maphash.Seed // seed of the ETags: each process has its own
	listCache  listCache
}

// NewViewer returns a viewer of projection, which must follow log. namespace is that of the Jobs and
// claims.
func NewViewer(log Source, projection Projection, namespace string) *Viewer {
	return &Viewer{log: log, projection: projection, renderer: renderer{namespace}, boot: maphash.MakeSeed()}
}

// Task answers for one task of user; the error is of kind problem.NotFound if the user has no
// such task.
func (v *Viewer) Task(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	a, ok := v.projection.TaskAnswer(user, id, v.taskCache.get)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoTask(id)
	}
	return v.answer(v.encodeTask(a), stale), nil
}

// Owns returns an error of kind problem.NotFound if user has no such task. stale is that of an answer.
func (v *Viewer) Owns(ctx context.Context, user, id string) (stale string, err error) {
	stale = v.stale(ctx)
	if _, ok := v.projection.Submission(user, id); !ok {
		return stale, task.ErrNoTask(id)
	}
	return stale, nil
}

// encodeTask returns the body of the answer for a task, which stays in the cache until the task
// changes. The body of a task in the backlog does not, because the position of the task changes with
// the other tasks.
func (v *Viewer) encodeTask(a cache.Answer) []byte {
	if a.Encoded != nil {
		return a.Encoded
	}
	s := v.renderer.task(*a.View)
	if a.Position > 0 {
		m := &s.Metadata
		m.Position, m.Reason, m.Message, m.Hint = a.Position, a.Reason, a.Message, task.HintFor(a.Reason, "", nil)
	}
	body := encodeTask(s)
	if a.Position == 0 {
		v.taskCache.put(a.ID, a.Version, body)
	}
	return body
}

// Spec answers with the submission of one task of user, with its secrets redacted. The error
// is of kind problem.NotFound if the user has no such task or if the submission is no longer
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

// Volume answers for one volume of user; the error is of kind problem.NotFound if the user has
// no such volume.
func (v *Viewer) Volume(ctx context.Context, user, id string) (task.Answer, error) {
	stale := v.stale(ctx)
	view, ok := v.projection.VolumeAnswer(user, id)
	if !ok {
		return task.Answer{Stale: stale}, task.ErrNoVolume(id)
	}
	return v.answer(encode(v.renderer.volume(view)), stale), nil
}

// Volumes answers with a list, newest first.
func (v *Viewer) Volumes(ctx context.Context, q task.Query) task.Answer {
	stale := v.stale(ctx)
	views, next := v.projection.VolumeAnswers(q)
	bodies := make([][]byte, len(views))
	for i, view := range views {
		bodies[i] = encode(v.renderer.volume(view))
	}
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

// cursor returns the cursor of the next page or "".
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
