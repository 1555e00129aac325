package logs

import (
	"context"
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
	endingAtOnce = 256              // logs of pods that are about to go that are read at once
	endingBytes  = 40 << 20         // of them that are buffered: they cannot wait, so each keeps less if they are many
	endedAtOnce  = 8                // logs of pods that have ended, if they are
	endedBytes   = 32 << 20         // or less
	storeBytes   = 8 << 20          // of logs that are stored at once, where
	storeLeast   = 512 << 10        // is what a store may take for one of any size
	sweepEvery   = 10 * time.Second // between looks for kept logs of forgotten tasks
	keepTries    = 10               // to keep one log
	keepPause    = time.Second      // after the first of them; it doubles
	storeWait    = 30 * time.Second // for the store's answer
)

// A Scene is a Projection of all tasks.
type Scene interface {
	Projection
	TaskView(id string) task.View
	Keys() []task.Key
}

// A Keeper stores the last part of the log of every pod that ends. Pods that
// ended stay for a while. The log of one that is stopped, or whose Job somebody
// deletes, has to be read before its grace period is over: a Keeper follows it
// from the moment at which that shows.
type Keeper struct {
	tailer  *Tailer
	scene   Scene
	limit   int         // bytes of a log
	current func() bool // the scene holds all that the log of commands does
	told    func(task.Key)

	runs          atomic.Bool
	ending, ended todo

	endingPool, endedPool *bufferPool
	storing               *semaphore.Weighted // bytes

	mu      sync.Mutex
	kept    map[string]string // UIDs of the pods whose logs are kept, or cannot be, by name
	busy    map[string]bool   // names of logs that are being read
	failed  map[string]int    // how often a log could not be kept
	failing bool              // the last one could not
	awaited map[string]bool   // tasks of which Archived was false
}

// NewKeeper returns a keeper of at most limit bytes of each log. It does
// nothing until Run, and there should be one that runs.
func NewKeeper(t *Tailer, scene Scene, limit int, current func() bool) *Keeper {
	return &Keeper{
		tailer: t, scene: scene, limit: limit, current: current, ending: newTodo(), ended: newTodo(),
		endingPool: newBufferPool(max(endingBytes, limit)),
		endedPool:  newBufferPool(endedWorkers(limit) * limit),
		storing:    semaphore.NewWeighted(storeBytes),
	}
}

// endedWorkers returns how many logs of at most limit bytes are read at once of
// pods that have ended: each finds room for all of it.
func endedWorkers(limit int) int { return min(max(endedBytes/max(limit, 1), 1), endedAtOnce) }

// Changed tells that a task may have changed. It does not block.
func (k *Keeper) Changed(key task.Key) {
	if key.Kind == task.KindTask && k.runs.Load() {
		k.ending.add(key.ID)
		k.ended.add(key.ID)
	}
}

// Run keeps logs until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	if err := k.learn(ctx); err != nil {
		return err
	}
	k.runs.Store(true)
	defer k.runs.Store(false)
	for _, key := range k.scene.Keys() {
		k.Changed(key)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.work(ctx, &k.ending, endingAtOnce, false) })
	g.Go(func() error { return k.work(ctx, &k.ended, endedWorkers(k.limit), true) })
	g.Go(func() error { return k.sweep(ctx) })
	return g.Wait()
}

// learn asks which logs are kept already, for as long as it takes.
func (k *Keeper) learn(ctx context.Context) error {
	k.reset(nil)
	for {
		all, err := k.tailer.store.List(ctx)
		if err == nil {
			kept := map[string]string{}
			for name, about := range all {
				kept[name] = about[aboutPod]
			}
			k.reset(kept)
			k.tellArchived(k.takeAwaited())
			return nil
		}
		k.tailer.log.Warn("list the kept logs, will try again", "err", err)
		if !pause(ctx) {
			return ctx.Err()
		}
	}
}

func (k *Keeper) reset(kept map[string]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept, k.busy, k.failed = kept, map[string]bool{}, map[string]int{}
}

// work keeps the logs of pods that have ended, or of those that will.
func (k *Keeper) work(ctx context.Context, due *todo, atOnce int, ended bool) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	defer func() { _ = g.Wait() }() // they give no errors
	for {
		id, err := due.next(ctx)
		if err != nil {
			return err
		}
		v := k.scene.TaskView(id)
		for rank, pod := range v.Pods {
			if pod == nil || pod.Phase.Over() != ended || !isEnding(v, rank) || !k.begin(id, rank, pod) {
				continue
			}
			g.Go(func() error {
				k.keep(ctx, v, rank)
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

// begin reports whether the log of a pod is to be kept now, and notes that it is.
func (k *Keeper) begin(id string, rank int, pod *task.Pod) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := keptName(id, rank)
	if k.busy[name] || k.kept[name] == pod.UID {
		return false
	}
	k.busy[name] = true
	return true
}

// keep reads the log of a pod to its end and stores the last part.
func (k *Keeper) keep(ctx context.Context, v task.View, rank int) {
	pod, name := v.Pods[rank], keptName(v.Submit.ID, rank)
	pool := k.endingPool
	if pod.Phase.Over() {
		pool = k.endedPool
	}
	last := pool.buffer(k.limit)
	defer last.release()
	r := reader{tailer: k.tailer, task: v.Submit.ID, pod: pod, pass: last.add}
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
		err = fmt.Errorf("the log of pod %s could not be read", pod.Name)
	}
	k.finish(name, pod, err)
}

func (k *Keeper) store(ctx context.Context, name string, pod *task.Pod, last *tailBuffer) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	size := min(max(int64(last.length()), storeLeast), storeBytes)
	if err := k.storing.Acquire(ctx, size); err != nil {
		return fmt.Errorf("wait for other logs to be stored: %w", err)
	}
	defer k.storing.Release(size)
	blob := last.take()
	about := map[string]string{aboutPod: pod.UID, aboutCut: strconv.FormatInt(last.cut, 10)}
	if last.short {
		about[aboutShort] = "true"
	}
	return k.tailer.store.Store(ctx, name, about, blob)
}

// finish notes what came of keeping a log. It is tried again for some time, but
// no task fails for it; that logs are lost is said once until one is kept again.
func (k *Keeper) finish(name string, pod *task.Pod, err error) {
	if !k.note(name, pod, err) {
		return
	}
	if id := keptTask(name); k.isAwaited(id) {
		k.tellArchived([]string{id})
	}
}

// note reports whether a log is not tried again.
func (k *Keeper) note(name string, pod *task.Pod, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, name)
	if err == nil {
		delete(k.failed, name)
		k.kept[name], k.failing = pod.UID, false
		return true
	}
	if !k.failing {
		k.failing = true
		k.tailer.log.Warn("a log could not be kept; it goes with its pod if that does not change", "task", keptTask(name), "err", err)
	}
	n := k.failed[name]
	if k.failed[name]++; n == keepTries {
		delete(k.failed, name)
		k.kept[name] = pod.UID
		return true
	}
	key := task.Key{Kind: task.KindTask, ID: keptTask(name)}
	time.AfterFunc(keepPause<<n, func() { k.Changed(key) })
	return false
}
