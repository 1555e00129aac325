package load

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
)

// name returns one that no other submission or creation of the run has.
func (l *Load) name(prefix string) string {
	return fmt.Sprintf("%s-%s%d", prefix, l.Tag, l.numbers.Add(1))
}

// quick is a task that fake nodes complete within a second or so.
func quick(name string) task.Spec { return task.Spec{Name: name, Run: "true"} }

// Endless returns a task that no node has room for.
func Endless(a *Actor) task.Spec {
	return task.Spec{Name: a.load.name("e"), Run: "true", Resources: task.Resources{CPUs: "5000"}}
}

// Mix is a turn of all that users do.
func Mix(ctx context.Context, a *Actor) {
	switch roll := a.Rand.IntN(100); {
	case roll < 50:
		a.Hand(ctx, quick(a.load.name("t")), false)
	case roll < 58:
		a.Duplicate(ctx, quick(a.load.name("d")), 2+a.Rand.IntN(3))
	case roll < 64:
		t := quick(a.load.name("n"))
		t.NumNodes = 2 + a.Rand.IntN(2)
		a.Hand(ctx, t, false)
	case roll < 70:
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

// Plain is a turn that only hands a task in.
func Plain(ctx context.Context, a *Actor) { a.Hand(ctx, quick(a.load.name("t")), false) }

// Large hands in a task whose script is so many bytes long, by which the log grows,
// and reports whether it was taken.
func Large(ctx context.Context, a *Actor, bytes int) bool {
	t := quick(a.load.name("l"))
	t.Run += "\n# " + strings.Repeat("x", bytes)
	_, ok := a.Hand(ctx, t, false)
	return ok
}

// Heavy hands in a task with a script of so many bytes, which waits for a volume
// that never comes: until it is stopped, the script is part of the state.
func Heavy(ctx context.Context, a *Actor, bytes int) {
	t := endlessWait(a.load.name("h"))
	var script strings.Builder
	for script.Len() < bytes {
		fmt.Fprintf(&script, "# %016x%016x\n", a.Rand.Uint64(), a.Rand.Uint64())
	}
	t.Run += "\n" + script.String()
	a.Hand(ctx, t, true)
}

// Hand submits a task until it is accepted, and looks whether it is there.
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

// SubmitOnly submits a task until it is accepted, and reads nothing.
func SubmitOnly(ctx context.Context, a *Actor) (id string, ok bool) {
	t := quick(a.load.name("s"))
	op, ok := a.Persist(ctx, func(at Target) history.Op { return a.Submit(ctx, at, t, "k-"+t.Name) })
	if ok {
		a.load.note(Task{op.Got, a.User, t.Name, t.Run, false})
	}
	return op.Got, ok
}

// readBack reads what was written, by another server if there is one.
func (a *Actor) readBack(ctx context.Context, op history.Op, name string) {
	a.pair = true
	defer func() { a.pair = false }()
	if a.Rand.IntN(4) == 0 && name != "" {
		a.List(ctx, a.Other(op.Pod), Narrow{Name: name})
		return
	}
	a.Status(ctx, a.Other(op.Pod), op.Got)
}

// Duplicate submits the same task several times at once, to any servers.
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

// StopAfterSubmit is a turn that submits a task and stops it at once.
func StopAfterSubmit(ctx context.Context, a *Actor) {
	id, ok := a.Hand(ctx, quick(a.load.name("s")), false)
	if !ok {
		return
	}
	if op, ok := a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, id) }); ok {
		a.readBack(ctx, op, "")
	}
}

// once submits a task without a key, and therefore only once.
func (a *Actor) once(ctx context.Context) {
	t := quick(a.load.name("u"))
	op := a.Submit(ctx, a.Target(), t, "")
	if op.OK() {
		a.load.note(Task{op.Got, a.User, t.Name, t.Run, false})
		a.readBack(ctx, op, "")
	}
}

// withVolume creates a volume and submits a task that mounts it at once. The
// volume may go while the task is there.
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

// readState is what users do between two tasks.
func (a *Actor) readState(ctx context.Context) {
	switch roll := a.Rand.IntN(200); {
	case roll < 40:
		if t, ok := a.some(a.User); ok {
			a.Status(ctx, a.Target(), t.ID)
		}
	case roll < 48: // of somebody else
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

// some returns any accepted task of a user.
func (a *Actor) some(user string) (Task, bool) {
	a.load.mu.Lock()
	defer a.load.mu.Unlock()
	all := a.load.tasks[user]
	if len(all) == 0 {
		return Task{}, false
	}
	return all[a.Rand.IntN(len(all))], true
}

// WriteRead is a turn of one write and one read elsewhere.
func WriteRead(ctx context.Context, a *Actor) { a.Hand(ctx, endlessWait(a.load.name("w")), true) }

// endlessWait is a task of which the cluster hears nothing.
func endlessWait(name string) task.Spec {
	t := quick(name)
	t.Volumes = map[string]string{"/data": "nowhere"}
	return t
}

// Copies is a turn of one submission that is sent many times at once.
func Copies(ctx context.Context, a *Actor, copies int) {
	a.Duplicate(ctx, quick(a.load.name("d")), copies)
}

// Once is a turn without a key, and so without a second attempt.
func Once(ctx context.Context, a *Actor) { a.once(ctx) }

// Mounting is a turn of a task with a volume of its own.
func Mounting(ctx context.Context, a *Actor) { a.withVolume(ctx) }

// Lasting is a turn of a task that stays until it is stopped.
func Lasting(ctx context.Context, a *Actor) { a.Hand(ctx, Endless(a), true) }

// StopIt stops a task of the actor's user, however often that has to be asked.
func (a *Actor) StopIt(ctx context.Context, id string) {
	a.Persist(ctx, func(at Target) history.Op { return a.Stop(ctx, at, id) })
}
