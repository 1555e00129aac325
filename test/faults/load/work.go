package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
)

// name returns a name that is unique in the run.
func (l *Load) name(prefix string) string {
	return fmt.Sprintf("%s-%s%d", prefix, l.Tag, l.numbers.Add(1))
}

// quick returns a task that fake nodes complete within about a second.
func quick(name string) task.Spec { return task.Spec{Name: name, Run: "true"} }

// Endless returns a task that fits no node.
func Endless(a *Actor) task.Spec {
	return task.Spec{Name: a.load.name("e"), Run: "true", Resources: task.Resources{CPUs: "5000"}}
}

// Mix is a turn with a random operation of a user.
func Mix(ctx context.Context, a *Actor) { a.mix(ctx, func() bool { return true }) }

// EndingMix returns Mix with at most a number of tasks that never end. More such tasks would
// take all places of a server that limits its Jobs.
func EndingMix(endless int32) func(context.Context, *Actor) {
	var submitted atomic.Int32
	return func(ctx context.Context, a *Actor) { a.mix(ctx, func() bool { return submitted.Add(1) <= endless }) }
}

func (a *Actor) mix(ctx context.Context, endless func() bool) {
	switch roll := a.Rand.IntN(100); {
	case roll < 50:
		a.Hand(ctx, quick(a.load.name("t")), false)
	case roll < 58:
		a.Duplicate(ctx, quick(a.load.name("d")), 2+a.Rand.IntN(3))
	case roll < 64:
		t := quick(a.load.name("n"))
		t.NumNodes = 2 + a.Rand.IntN(2)
		a.Hand(ctx, t, false)
	case roll < 70 && endless():
		a.Hand(ctx, Endless(a), true)
	case roll < 82:
		StopAfterSubmit(ctx, a)
	case roll < 88:
		a.withVolume(ctx)
	default:
		a.once(ctx)
	}
	a.readState(ctx)
}

// Plain is a turn that only submits a task.
func Plain(ctx context.Context, a *Actor) { a.Hand(ctx, quick(a.load.name("t")), false) }

// Large submits a task with a script of this many bytes, so that the log grows. Large
// reports whether the task was accepted.
func Large(ctx context.Context, a *Actor, bytes int) bool {
	t := quick(a.load.name("l"))
	t.Run += "\n# " + strings.Repeat("x", bytes)
	_, ok := a.Hand(ctx, t, false)
	return ok
}

// Heavy submits a task with a script of this many bytes. The task waits for a volume that
// does not exist, so the script stays in the state until the task is stopped.
func Heavy(ctx context.Context, a *Actor, bytes int) {
	t := endlessWait(a.load.name("h"))
	var script strings.Builder
	for script.Len() < bytes {
		fmt.Fprintf(&script, "# %016x%016x\n", a.Rand.Uint64(), a.Rand.Uint64())
	}
	t.Run += "\n" + script.String()
	a.Hand(ctx, t, true)
}

// Hand submits a task until it is accepted, and then reads it.
func (a *Actor) Hand(ctx context.Context, t task.Spec, endless bool) (id string, ok bool) {
	key := "k-" + t.Name
	op, ok := a.Persist(ctx, func(at Target) history.Op { return a.Submit(ctx, at, t, key) })
	if !ok {
		return "", false
	}
	a.load.note(Task{op.Got, a.User, t.Name, t.Run, endless})
	a.readBack(ctx, op, t.Name)
	return op.Got, true
}

// readBack reads on another server, if there is one, what was written.
func (a *Actor) readBack(ctx context.Context, op history.Op, name string) {
	if a.Rand.IntN(4) == 0 && name != "" {
		a.List(ctx, a.Other(op.Pod), Narrow{Name: name})
		return
	}
	a.Status(ctx, a.Other(op.Pod), op.Got)
}

// Duplicate submits the same task several times concurrently, to random servers.
func (a *Actor) Duplicate(ctx context.Context, t task.Spec, copies int) {
	key := "k-" + t.Name
	targets := make([]Target, copies)
	for i := range targets {
		targets[i] = a.Target()
	}
	var all sync.WaitGroup
	ids := make([]string, copies)
	for i := range copies {
		all.Go(func() {
			next := i
			op, ok := persist(ctx, func() Target { next++; return targets[next%copies] }, func(at Target) history.Op { return a.Submit(ctx, at, t, key) })
			if ok {
				ids[i] = op.Got
			}
		})
	}
	all.Wait()
	if ids[0] != "" {
		a.load.note(Task{ids[0], a.User, t.Name, t.Run, false})
	}
}

// StopAfterSubmit is a turn that submits a task and stops it immediately.
func StopAfterSubmit(ctx context.Context, a *Actor) {
	id, ok := a.Hand(ctx, quick(a.load.name("s")), false)
	if !ok {
		return
	}
	if op, ok := a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, id) }); ok {
		a.readBack(ctx, op, "")
	}
}

// once submits a task without an idempotency key, and therefore only once.
func (a *Actor) once(ctx context.Context) {
	t := quick(a.load.name("u"))
	op := a.Submit(ctx, a.Target(), t, "")
	if op.OK() {
		a.load.note(Task{op.Got, a.User, t.Name, t.Run, false})
		a.readBack(ctx, op, "")
	}
}

// withVolume creates a volume and immediately submits a task that mounts the volume.
// withVolume may delete the volume while the task exists.
func (a *Actor) withVolume(ctx context.Context) {
	v := task.Volume{Name: a.load.name("v"), Size: "1Gi"}
	op, ok := a.Persist(ctx, func(at Target) history.Op { return a.Create(ctx, at, v, "k-"+v.Name) })
	if !ok {
		return
	}
	a.Volume(ctx, a.Other(op.Pod), op.Got)
	t := quick(a.load.name("m"))
	t.Volumes = map[string]string{"/data": v.Name}
	a.Hand(ctx, t, true)
	if a.Rand.IntN(2) == 0 {
		gone, ok := a.Persist(ctx, func(at Target) history.Op { return a.Delete(ctx, at, op.Got) })
		if ok {
			a.Volume(ctx, a.Other(gone.Pod), op.Got)
		}
	}
}

// readState sends the reads of a user between two submissions.
func (a *Actor) readState(ctx context.Context) {
	switch roll := a.Rand.IntN(200); {
	case roll < 40:
		if t, ok := a.some(a.User); ok {
			a.Status(ctx, a.Target(), t.ID)
		}
	case roll < 48: // a task of another user
		if t, ok := a.some(Users[a.Rand.IntN(len(Users))]); ok && t.User != a.User {
			a.Status(ctx, a.Target(), t.ID)
			if roll < 42 {
				a.Stop(ctx, a.Target(), t.ID)
			}
		}
	case roll < 60:
		a.List(ctx, a.Target(), Narrow{Limit: 20})
	case roll < 64:
		a.Volumes(ctx, a.Target(), Narrow{})
	case roll < 65:
		a.List(ctx, a.Target(), Narrow{})
	case roll < 71:
		if t, ok := a.some(a.User); ok {
			a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, t.ID) })
		}
	case roll < 72 && a.Number == 0:
		a.StopAll(ctx, a.Target())
	}
}

// some returns a random accepted task of a user.
func (a *Actor) some(user string) (Task, bool) {
	a.load.mu.Lock()
	defer a.load.mu.Unlock()
	all := a.load.tasks[user]
	if len(all) == 0 {
		return Task{}, false
	}
	return all[a.Rand.IntN(len(all))], true
}

// WriteRead is a turn with one write and one read on another server.
func WriteRead(ctx context.Context, a *Actor) { a.Hand(ctx, endlessWait(a.load.name("w")), true) }

// endlessWait returns a task that never gets a Job, because it waits for a volume.
func endlessWait(name string) task.Spec {
	t := quick(name)
	t.Volumes = map[string]string{"/data": "nowhere"}
	return t
}

// Chain is a turn with five tasks that run one after the other. Some chains are broken by the
// stop of a task.
func Chain(ctx context.Context, a *Actor) {
	const length = 5
	items := make([]Item, length)
	for i := range items {
		items[i].Spec = quick(a.load.name("c"))
		if i > 0 {
			items[i].After = []string{items[i-1].Name}
		}
	}
	a.together(ctx, items)
}

// Graph is a turn with fifty tasks, each after up to three others, in random order.
func Graph(ctx context.Context, a *Actor) {
	const size, most = 50, 3
	items := make([]Item, size)
	for i := range items {
		items[i].Spec = quick(a.load.name("g"))
		for range min(a.Rand.IntN(most+1), i) {
			if before := items[a.Rand.IntN(i)].Name; !slices.Contains(items[i].After, before) {
				items[i].After = append(items[i].After, before)
			}
		}
	}
	a.Rand.Shuffle(size, func(i, j int) { items[i], items[j] = items[j], items[i] })
	a.together(ctx, items)
}

// ChainOrGraph is Chain, and sometimes Graph.
func ChainOrGraph(ctx context.Context, a *Actor) {
	if a.Rand.IntN(20) == 0 {
		Graph(ctx, a)
		return
	}
	Chain(ctx, a)
}

// together submits tasks until they are accepted. Then together may stop one of them.
func (a *Actor) together(ctx context.Context, items []Item) {
	for i := range items {
		items[i].Key = keyOf(items[i].Name)
	}
	var ops []history.Op
	_, ok := a.Persist(ctx, func(at Target) history.Op {
		ops = a.SubmitTogether(ctx, at, items)
		return ops[0]
	})
	if !ok {
		return
	}
	for i, item := range items {
		a.load.note(Task{ops[i].Got, a.User, item.Name, item.Run, false})
	}
	last := len(items) - 1
	a.readBack(ctx, ops[last], items[last].Name)
	if a.Rand.IntN(5) == 0 {
		id := ops[a.Rand.IntN(len(ops))].Got
		a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, id) })
	}
}

// Once is a turn with a submission without an idempotency key, and so without a retry.
func Once(ctx context.Context, a *Actor) { a.once(ctx) }

// Mounting is a turn with a task that mounts a volume of its own.
func Mounting(ctx context.Context, a *Actor) { a.withVolume(ctx) }

// Lasting is a turn with a task that exists until it is stopped.
func Lasting(ctx context.Context, a *Actor) { a.Hand(ctx, Endless(a), true) }

// StopIt stops a task of the actor's user. StopIt retries until the answer is certain.
func (a *Actor) StopIt(ctx context.Context, id string) {
	a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, id) })
}
