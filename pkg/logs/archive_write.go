package logs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

const (
	endingAtOnce = 256 // logs of ending pods that are read at once
	// bytes that the buffers of these logs share. An ending pod cannot wait, so each buffer
	// shrinks if there are many.
	endingBytes   = 40 << 20
	endedAtOnce   = 8                // largest number of logs of ended pods that are read at once
	endedBytes    = 32 << 20         // bytes that the buffers of these logs share
	storeBytes    = 8 << 20          // bytes of logs that are stored at once
	storeLeast    = 512 << 10        // least number of these bytes that one log counts, because each call of the store needs memory
	sweepEvery    = 10 * time.Second // time between two searches for archived logs of expired tasks
	maxStoreTries = 10               // attempts to archive one log
	storeRetry    = time.Second      // pause after the first attempt; doubles with each attempt
	unreadable    = 3                // failed reads of one log after which the Jobs of its task may be deleted
	storeWait     = 30 * time.Second // timeout of a call of the store
)

// An Archiver stores the last part of the log of every pod that ends. A pod that ends by
// itself stays for some time, so its log can be read later. The pod of a stopped task or of
// a deleted Job disappears after its grace period, so the Archiver follows its log from the
// moment at which the stop or the deletion is visible.
type Archiver struct {
	tailer     *Tailer
	tasks      Projection
	limit      int         // largest part of one log, in bytes
	current    func() bool // whether tasks contains everything that is in the log of commands
	onArchived func(task.Key)

	runs          atomic.Bool
	ending, ended dedupQueue

	endingPool, endedPool *bufferPool
	storing               *semaphore.Weighted // semaphore of storeBytes

	mu       sync.Mutex
	archived map[string]string // UIDs of the pods whose logs are archived or cannot be, by archive name
	busy     map[string]bool   // archive names of logs that are being read
	failed   map[string]int    // failed attempts to archive a log, by archive name
	unread   map[string]unread // failed attempts to read a log, by archive name
	failing  bool              // the last attempt to archive any log failed
	pending  map[string]bool   // tasks for which Archived was false
}

// An unread log is one that could not be read. The next pod of a node that restarts starts
// with no failed attempts.
type unread struct {
	pod   string // UID
	tries int
}

// NewArchiver returns an archiver that stores at most limit bytes of each log. The archiver
// does nothing until Run. At most one archiver should run.
func NewArchiver(t *Tailer, tasks Projection, limit int, current func() bool) *Archiver {
	return &Archiver{
		tailer: t, tasks: tasks, limit: limit, current: current, ending: newDedupQueue(), ended: newDedupQueue(),
		endingPool: newBufferPool(max(endingBytes, limit)),
		endedPool:  newBufferPool(endedWorkers(limit) * limit),
		storing:    semaphore.NewWeighted(storeBytes),
	}
}

// endedWorkers returns how many logs of ended pods are read at once. The workers are so few
// that the pool holds limit bytes for each.
func endedWorkers(limit int) int { return min(max(endedBytes/max(limit, 1), 1), endedAtOnce) }

// Enqueue notifies the archiver that a task may have changed. Enqueue does not block.
func (a *Archiver) Enqueue(key task.Key) {
	if key.Kind == task.KindTask && a.runs.Load() {
		a.ending.add(key.ID)
		a.ended.add(key.ID)
	}
}

// Run archives logs until ctx ends.
func (a *Archiver) Run(ctx context.Context) error {
	if err := a.loadArchived(ctx); err != nil {
		return err
	}
	a.runs.Store(true)
	defer a.runs.Store(false)
	for _, key := range a.tasks.Keys() {
		a.Enqueue(key)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.work(ctx, &a.ending, endingAtOnce, false) })
	g.Go(func() error { return a.work(ctx, &a.ended, endedWorkers(a.limit), true) })
	g.Go(func() error { return a.sweep(ctx) })
	return g.Wait()
}

// loadArchived lists the archived logs and retries until the list succeeds.
func (a *Archiver) loadArchived(ctx context.Context) error {
	a.reset(nil)
	for {
		all, err := a.tailer.store.List(ctx)
		if err == nil {
			kept := map[string]string{}
			for name, about := range all {
				kept[name] = about[aboutPod]
			}
			a.reset(kept)
			a.notifyArchived(a.takePending())
			return nil
		}
		a.tailer.log.Warn("listing the archived logs failed; retrying", "err", err)
		if !pause(ctx) {
			return ctx.Err()
		}
	}
}

func (a *Archiver) reset(kept map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.archived, a.busy, a.failed, a.unread = kept, map[string]bool{}, map[string]int{}, map[string]unread{}
}

// work archives the logs of ended pods if ended is true, or else the logs of ending pods.
func (a *Archiver) work(ctx context.Context, due *dedupQueue, atOnce int, ended bool) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	defer func() { _ = g.Wait() }() // the functions return no errors
	for {
		id, err := due.next(ctx)
		if err != nil {
			return err
		}
		v := a.tasks.TaskView(id)
		for rank, job := range v.Jobs {
			for _, l := range podLogs(v, rank) {
				isEnding := l.pod.Phase.Over() || l.pod.Deleting || v.Phase.Over() || job == nil || job.Deleting
				if l.pod.Phase.Over() != ended || !isEnding || !a.startTail(l) {
					continue
				}
				g.Go(func() error {
					a.archive(ctx, l)
					return nil
				})
			}
		}
	}
}

// A podLog is the log of one attempt of a node, whose pod exists.
type podLog struct {
	name string // in the archive
	task string
	pod  *task.Pod
}

// podLogs returns the logs of a node that are archived when their pods end.
func podLogs(v task.View, rank int) (all []podLog) {
	if v.Record == nil || v.Pods[rank] == nil {
		return nil
	}
	newest := attempt.Current(v, rank)
	for _, r := range attempt.Runs(v, rank) {
		if r.Pod != nil && r.Pod.Readable && !r.Gone && attempt.Kept(r.Number, newest-1) {
			all = append(all, podLog{archiveName(v.Submit.ID, rank, r.Number), v.Submit.ID, r.Pod})
		}
	}
	return all
}

// startTail reports whether to archive the log of a pod now, and marks the log as busy.
func (a *Archiver) startTail(l podLog) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[l.name] || a.archived[l.name] == l.pod.UID {
		return false
	}
	a.busy[l.name] = true
	return true
}

// archive reads the log of a pod to its end and stores the last part.
func (a *Archiver) archive(ctx context.Context, l podLog) {
	pod, name := l.pod, l.name
	pool := a.endingPool
	if pod.Phase.Over() {
		pool = a.endedPool
	}
	last := pool.buffer(a.limit)
	defer last.release()
	r := reader{tailer: a.tailer, task: l.task, pod: pod, pass: last.add, once: pod.Phase.Over()}
	var whole bool
	if pod.Phase.Over() {
		whole = r.finish(ctx, nil, false)
	} else {
		whole = r.followToEnd(ctx)
	}
	var err error
	switch {
	case ctx.Err() != nil: // the next leader archives the log
		return
	case last.length() > 0:
		err = a.store(ctx, name, pod, last)
	case !whole:
		err = fmt.Errorf("%w: pod %s", errUnreadable, pod.Name)
	}
	a.finish(name, pod, err)
}

func (a *Archiver) store(ctx context.Context, name string, pod *task.Pod, last *tailBuffer) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	size := min(max(int64(last.length()), storeLeast), storeBytes)
	if err := a.storing.Acquire(ctx, size); err != nil {
		return fmt.Errorf("wait for the storage of other logs: %w", err)
	}
	defer a.storing.Release(size)
	blob := last.take()
	about := map[string]string{aboutPod: pod.UID, aboutCut: strconv.FormatInt(last.cut, 10), aboutCutLines: strconv.FormatInt(last.lines, 10)}
	if !pod.StartedAt.IsZero() {
		about[aboutStart] = pod.StartedAt.UTC().Format(time.RFC3339)
	}
	if last.short {
		about[aboutShort] = "true"
	}
	return a.tailer.store.Store(ctx, name, about, blob)
}

var errUnreadable = errors.New("the log cannot be read")

// finish records the result of archiving a log. The archiver retries for some time, but no
// task fails because of its log. One warning says that logs are lost; the next warning
// follows only after a log was archived again.
func (a *Archiver) finish(name string, pod *task.Pod, err error) {
	if !a.observe(name, pod, err) {
		return
	}
	if id := archiveTask(name); a.isPending(id) {
		a.notifyArchived([]string{id})
	}
}

// observe records the result and reports whether the log no longer prevents the deletion of
// its Job: the log is archived, the archiver gave up, or the log was unreadable several
// times. The archiver retries an unreadable log while the pod exists, but a kubelet that
// lost its logs must not delay other tasks.
func (a *Archiver) observe(name string, pod *task.Pod, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.busy, name)
	if err == nil {
		a.settle(name, pod)
		a.failing = false
		return true
	}
	if !a.failing {
		a.failing = true
		a.tailer.log.Warn("archiving a log failed; the log is lost with its pod unless a retry succeeds", "task", archiveTask(name), "err", err)
	}
	n := a.failed[name]
	if a.failed[name]++; n == maxStoreTries {
		a.settle(name, pod)
		return true
	}
	if errors.Is(err, errUnreadable) {
		if u := a.unread[name]; u.pod == pod.UID {
			a.unread[name] = unread{pod.UID, u.tries + 1}
		} else {
			a.unread[name] = unread{pod.UID, 1}
		}
	}
	key := task.Key{Kind: task.KindTask, ID: archiveTask(name)}
	time.AfterFunc(storeRetry<<n, func() { a.Enqueue(key) })
	return a.unread[name] == unread{pod.UID, unreadable}
}

// settle records that the log of a pod is archived or never will be. The caller holds the
// lock.
func (a *Archiver) settle(name string, pod *task.Pod) {
	delete(a.failed, name)
	delete(a.unread, name)
	a.archived[name] = pod.UID
}
