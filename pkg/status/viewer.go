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
)

// A Log waits for its read index, and returns submissions. The error of Submission is of kind
// problem.NotFound if the submission is no longer stored.
type Log interface {
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
	Submission(ctx context.Context, seq uint64, id string) (task.Spec, error)
}

// A Viewer answers from the store after a read barrier. Only submissions are read from the
// log. A Viewer sends no request to Kubernetes.
type Viewer struct {
	log       Log
	store     *cache.Store
	renderer  renderer
	taskCache taskCache
	boot      maphash.Seed // seed of the ETags: each process has its own
	listCache listCache
}

// NewViewer returns a viewer of store, which must follow log. namespace is that of the Jobs and
// claims.
func NewViewer(log Log, store *cache.Store, namespace string) *Viewer {
	return &Viewer{log: log, store: store, renderer: renderer{namespace}, boot: maphash.MakeSeed(), taskCache: newTaskCache(), listCache: newListCache()}
}

// A Read answers the questions of one request. All its answers contain what was stored before
// Viewer.Read was called, unless Stale says otherwise.
type Read struct {
	viewer *Viewer

	Store   *cache.Store
	Stale   string // why and since when answers may be old, for example "log; age=3"; "" if they are current
	Current bool   // the store has everything that was in the log
}

// Read waits at the read barrier, once for all questions of a request.
func (v *Viewer) Read(ctx context.Context) Read {
	if age, ok := v.log.WaitReadIndex(ctx); !ok {
		return Read{v, v.store, staleness("log", age), false}
	}
	if age, err := v.store.ClusterLag(); err != nil {
		return Read{v, v.store, staleness("cluster", age), true}
	}
	return Read{v, v.store, "", true}
}

// Task answers for one task of user; the error is of kind problem.NotFound if the user has no
// such task.
func (r Read) Task(user, id string) (task.Answer, error) {
	known, _ := r.viewer.taskCache.Get(id)
	a, ok := r.Store.TaskAnswer(user, id, known.version)
	switch {
	case !ok:
		return task.Answer{Stale: r.Stale}, task.ErrNoTask(id)
	case a.View == nil:
		return r.answer(known.body), nil
	default:
		return r.answer(r.viewer.encodeTask(a)), nil
	}
}

// Owns returns an error of kind problem.NotFound if user has no such task.
func (r Read) Owns(user, id string) error {
	if _, ok := r.Store.Submission(user, id); !ok {
		return task.ErrNoTask(id)
	}
	return nil
}

// encodeTask returns the body of the answer for a task with a view, which stays in the cache until
// the task changes. The body of a task in the backlog does not, because the position of the task changes with
// the other tasks.
func (v *Viewer) encodeTask(a cache.Answer) []byte {
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
func (r Read) Spec(ctx context.Context, user, id string) (task.Answer, error) {
	seq, ok := r.Store.Submission(user, id)
	if !ok {
		return task.Answer{Stale: r.Stale}, task.ErrNoTask(id)
	}
	t, err := r.viewer.log.Submission(ctx, seq, id)
	if err != nil {
		return task.Answer{Stale: r.Stale}, err
	}
	body, err := task.Marshal(t)
	if err != nil {
		return task.Answer{Stale: r.Stale}, fmt.Errorf("encode the submission of task %s: %w", id, err)
	}
	return r.answer(body), nil
}

// Volume answers for one volume of user; the error is of kind problem.NotFound if the user has
// no such volume.
func (r Read) Volume(user, id string) (task.Answer, error) {
	view, ok := r.Store.VolumeAnswer(user, id)
	if !ok {
		return task.Answer{Stale: r.Stale}, task.ErrNoVolume(id)
	}
	return r.answer(encode(r.viewer.renderer.volume(view))), nil
}

// Volumes answers with a list, newest first.
func (r Read) Volumes(q task.Query) task.Answer {
	views, next := r.Store.VolumeAnswers(q)
	bodies := make([][]byte, len(views))
	for i, view := range views {
		bodies[i] = encode(r.viewer.renderer.volume(view))
	}
	a := r.answer(listed("volumes", bodies))
	a.Next = cursor(next)
	return a
}

// cursor returns the cursor of the next page or "".
func cursor(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

func (r Read) answer(body []byte) task.Answer { return tagged(r.viewer.boot, body, r.Stale) }

func tagged(boot maphash.Seed, body []byte, stale string) task.Answer {
	return task.Answer{Body: body, ETag: etag(maphash.Bytes(boot, body)), Stale: stale}
}

func etag(sum uint64) string {
	tag := strconv.AppendUint(append(make([]byte, 0, 24), `W/"`...), sum, 36)
	return string(append(tag, '"'))
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
