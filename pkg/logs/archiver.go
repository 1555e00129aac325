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
)

const (
	endingAtOnce  = 256              // logs of pods that are about to go that are read at once
	endingBytes   = 40 << 20         // of them that are buffered: they cannot wait, so each keeps less if they are many
	endedAtOnce   = 8                // logs of pods that have ended, if they are
	endedBytes    = 32 << 20         // or less
	storeBytes    = 8 << 20          // of logs that are stored at once, where
	storeLeast    = 512 << 10        // is what a store may take for one of any size
	sweepEvery    = 10 * time.Second // between looks for kept logs of forgotten tasks
	maxStoreTries = 10               // to archive one log
	storeRetry    = time.Second      // after the first of them; it doubles
	unreadable    = 3                // failed reads of one log after which no Job stays for it
	storeWait     = 30 * time.Second // for the store's answer
)

// A TaskReader is a Projection of all tasks.
type TaskReader interface {
	Projection
	TaskView(id string) task.View
	Keys() []task.Key
}

// An Archiver stores the last part of the log of every pod that ends. Pods that
// ended stay for a while. The log of one that is stopped, or whose Job somebody
// deletes, has to be read before its grace period is over: an Archiver follows it
// from the moment at which that shows.
type Archiver struct {
	tailer     *Tailer
	tasks      TaskReader
	limit      int         // bytes of a log
	current    func() bool // the scene holds all that the log of commands does
	onArchived func(task.Key)

	runs          atomic.Bool
	ending, ended dedupQueue

	endingPool, endedPool *bufferPool
	storing               *semaphore.Weighted // bytes

	mu       sync.Mutex
	archived map[string]string // UIDs of the pods whose logs are kept, or cannot be, by name
	busy     map[string]bool   // names of logs that are being read
	failed   map[string]int    // how often a log could not be archived
	unread   map[string]int    // how often of them it could not be read
	failing  bool              // the last one could not
	pending  map[string]bool   // tasks of which Archived was false
}

// NewArchiver returns an archiver of at most limit bytes of each log. It does
// nothing until Run, and there should be one that runs.
func NewArchiver(t *Tailer, scene TaskReader, limit int, current func() bool) *Archiver {
	return &Archiver{
		tailer: t, tasks: scene, limit: limit, current: current, ending: newDedupQueue(), ended: newDedupQueue(),
		endingPool: newBufferPool(max(endingBytes, limit)),
		endedPool:  newBufferPool(endedWorkers(limit) * limit),
		storing:    semaphore.NewWeighted(storeBytes),
	}
}

// endedWorkers returns how many logs of at most limit bytes are read at once of
// pods that have ended: each finds room for all of it.
func endedWorkers(limit int) int { return min(max(endedBytes/max(limit, 1), 1), endedAtOnce) }

// Changed tells that a task may have changed. It does not block.
func (k *Archiver) Changed(key task.Key) {
	if key.Kind == task.KindTask && k.runs.Load() {
		k.ending.add(key.ID)
		k.ended.add(key.ID)
	}
}

// Run keeps logs until ctx ends.
func (k *Archiver) Run(ctx context.Context) error {
	if err := k.loadArchived(ctx); err != nil {
		return err
	}
	k.runs.Store(true)
	defer k.runs.Store(false)
	for _, key := range k.tasks.Keys() {
		k.Changed(key)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.work(ctx, &k.ending, endingAtOnce, false) })
	g.Go(func() error { return k.work(ctx, &k.ended, endedWorkers(k.limit), true) })
	g.Go(func() error { return k.sweep(ctx) })
	return g.Wait()
}

// loadArchived asks which logs are kept already, for as long as it takes.
func (k *Archiver) loadArchived(ctx context.Context) error {
	k.reset(nil)
	for {
		all, err := k.tailer.store.List(ctx)
		if err == nil {
			kept := map[string]string{}
			for name, about := range all {
				kept[name] = about[aboutPod]
			}
			k.reset(kept)
			k.notifyArchived(k.takePending())
			return nil
		}
		k.tailer.log.Warn("listing the archived logs failed; retrying", "err", err)
		if !pause(ctx) {
			return ctx.Err()
		}
	}
}

func (k *Archiver) reset(kept map[string]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.archived, k.busy, k.failed, k.unread = kept, map[string]bool{}, map[string]int{}, map[string]int{}
}

// work keeps the logs of pods that have ended, or of those that will.
func (k *Archiver) work(ctx context.Context, due *dedupQueue, atOnce int, ended bool) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	defer func() { _ = g.Wait() }() // they give no errors
	for {
		id, err := due.next(ctx)
		if err != nil {
			return err
		}
		v := k.tasks.TaskView(id)
		for rank, pod := range v.Pods {
			if pod == nil || pod.Phase.Over() != ended || !isEnding(v, rank) || !k.startTail(id, rank, pod) {
				continue
			}
			g.Go(func() error {
				k.archive(ctx, v, rank)
				return nil
			})
		}
	}
}

// isEnding reports whether a pod has a log that will not be there for long.
func isEnding(v task.View, rank int) bool {
	pod, job := v.Pods[rank], v.Jobs[rank]
	if v.Record == nil || !pod.Readable {
		return false
	}
	return pod.Phase.Over() || v.Phase.Over() || job == nil || job.Deleting
}

// startTail reports whether the log of a pod is to be kept now, and notes that it is.
func (k *Archiver) startTail(id string, rank int, pod *task.Pod) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := archiveName(id, rank)
	if k.busy[name] || k.archived[name] == pod.UID {
		return false
	}
	k.busy[name] = true
	return true
}

// archive reads the log of a pod to its end and stores the last part.
func (k *Archiver) archive(ctx context.Context, v task.View, rank int) {
	pod, name := v.Pods[rank], archiveName(v.Submit.ID, rank)
	pool := k.endingPool
	if pod.Phase.Over() {
		pool = k.endedPool
	}
	last := pool.buffer(k.limit)
	defer last.release()
	r := reader{tailer: k.tailer, task: v.Submit.ID, pod: pod, pass: last.add, once: pod.Phase.Over()}
	var whole bool
	if pod.Phase.Over() {
		whole = r.finish(ctx, nil, false)
	} else {
		whole = r.followToEnd(ctx)
	}
	var err error
	switch {
	case ctx.Err() != nil: // whoever leads next begins anew
		return
	case last.length() > 0:
		err = k.store(ctx, name, pod, last)
	case !whole:
		err = fmt.Errorf("%w: pod %s", errUnreadable, pod.Name)
	}
	k.finish(name, pod, err)
}

func (k *Archiver) store(ctx context.Context, name string, pod *task.Pod, last *tailBuffer) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	size := min(max(int64(last.length()), storeLeast), storeBytes)
	if err := k.storing.Acquire(ctx, size); err != nil {
		return fmt.Errorf("wait for the storage of other logs: %w", err)
	}
	defer k.storing.Release(size)
	blob := last.take()
	about := map[string]string{aboutPod: pod.UID, aboutCut: strconv.FormatInt(last.cut, 10)}
	if last.short {
		about[aboutShort] = "true"
	}
	return k.tailer.store.Store(ctx, name, about, blob)
}

var errUnreadable = errors.New("the log cannot be read")

// finish records the result of archiving a log. The archiver tries again for some
// time, but no task fails for its log; a warning says once that logs are lost, until
// a log is archived again.
func (k *Archiver) finish(name string, pod *task.Pod, err error) {
	if !k.observe(name, pod, err) {
		return
	}
	if id := archiveTask(name); k.isPending(id) {
		k.notifyArchived([]string{id})
	}
}

// observe reports whether no Job has to stay for a log any longer: the log is archived,
// the archiver gives it up, or it could not be read several times. The archiver goes on
// to try the last kind while the pod is there, but a kubelet that has lost its logs must
// not hold the places of other tasks.
func (k *Archiver) observe(name string, pod *task.Pod, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, name)
	if err == nil {
		k.settle(name, pod)
		k.failing = false
		return true
	}
	if !k.failing {
		k.failing = true
		k.tailer.log.Warn("archiving a log failed; the log is lost with its pod unless a retry succeeds", "task", archiveTask(name), "err", err)
	}
	n := k.failed[name]
	if k.failed[name]++; n == maxStoreTries {
		k.settle(name, pod)
		return true
	}
	if errors.Is(err, errUnreadable) {
		k.unread[name]++
	}
	key := task.Key{Kind: task.KindTask, ID: archiveTask(name)}
	time.AfterFunc(storeRetry<<n, func() { k.Changed(key) })
	return k.unread[name] == unreadable
}

// settle records that the log of a pod is archived, or never will be. It is called with
// the lock held.
func (k *Archiver) settle(name string, pod *task.Pod) {
	delete(k.failed, name)
	delete(k.unread, name)
	k.archived[name] = pod.UID
}
