package load

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// A Load is many concurrent clients.
type Load struct {
	Recorder *history.Recorder
	Seed     uint64
	Clients  int
	Targets  []Target
	Tag      string // part of all names, if the servers know names of an earlier load

	http     *http.Client
	accepted atomic.Int64 // accepted submissions
	numbers  atomic.Int64 // for names
	mu       sync.Mutex
	changed  chan struct{}     // closed when sent or allowed changes
	sent     int               // submissions begun
	allowed  int               // submissions that may begin; a negative number means no limit
	tasks    map[string][]Task // accepted tasks, by user
	recent   []Task            // the latest accepted tasks
}

const recently = 20 // tasks

// A Task is an accepted task.
type Task struct {
	ID, User  string
	Name, Run string // as submitted
	Endless   bool   // may never end by itself
}

// New returns a load that has not begun.
func New(recorder *history.Recorder, seed uint64, clients int, targets []Target) *Load {
	return &Load{
		Recorder: recorder, Seed: seed, Clients: clients, Targets: targets,
		http: NewHTTP(), changed: make(chan struct{}), allowed: -1, tasks: map[string][]Task{},
	}
}

// Close closes idle connections.
func (l *Load) Close() { l.http.CloseIdleConnections() }

// As returns an additional client for a user.
func (l *Load) As(user string) *Client {
	return &Client{Number: -1, User: user, Recorder: l.Recorder, HTTP: l.http}
}

// Accepted returns the number of accepted submissions.
func (l *Load) Accepted() int { return int(l.accepted.Load()) }

// Await waits until n submissions have begun.
func (l *Load) Await(ctx context.Context, n int) error {
	return l.wait(ctx, func() bool { return l.sent >= n })
}

// Allow lets the clients begin n submissions in total. A negative n means no limit.
func (l *Load) Allow(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = n
	l.publishProgress()
}

// publishProgress wakes the waiting goroutines. The caller holds the lock.
func (l *Load) publishProgress() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Load) wait(ctx context.Context, reached func() bool) error {
	for {
		l.mu.Lock()
		ok, changed := reached(), l.changed
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next reports whether a client may begin another submission. next waits for Allow if
// necessary.
func (l *Load) next(ctx context.Context, until int) bool {
	more := false
	err := l.wait(ctx, func() bool {
		more = l.sent < until
		if more && l.allowed >= 0 && l.sent >= l.allowed {
			return false
		}
		if more {
			l.sent++
			l.publishProgress()
		}
		return true
	})
	return more && err == nil
}

func (l *Load) note(t Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks[t.User] = append(l.tasks[t.User], t)
	if l.recent = append(l.recent, t); len(l.recent) > recently {
		l.recent = l.recent[1:]
	}
	l.accepted.Add(1)
}

// Recent returns a random one of the latest accepted tasks.
func (l *Load) Recent(by *rand.Rand) (Task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.recent) == 0 {
		return Task{}, false
	}
	return l.recent[by.IntN(len(l.recent))], true
}

// Tasks returns all accepted tasks.
func (l *Load) Tasks() (all []Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tasks := range l.tasks {
		all = append(all, tasks...)
	}
	return all
}

// Run runs all clients until this many submissions have begun or ctx ends. work is one turn
// of a client, which submits one task.
func (l *Load) Run(ctx context.Context, submissions int, work func(context.Context, *Actor)) {
	l.mu.Lock()
	until := l.sent + submissions
	l.mu.Unlock()
	var clients sync.WaitGroup
	for i := range l.Clients {
		a := l.Actor(i)
		clients.Go(func() {
			for ctx.Err() == nil && l.next(ctx, until) {
				work(ctx, a)
			}
		})
	}
	clients.Wait()
}

// Actor returns client i with its own sequence of random numbers.
func (l *Load) Actor(i int) *Actor {
	return &Actor{
		Client: &Client{Number: i, User: Users[i%len(Users)], Recorder: l.Recorder, HTTP: l.http},
		load:   l,
		Rand:   rand.New(rand.NewPCG(l.Seed, uint64(i)+1)),
	}
}

// An Actor is a client that makes random choices. An Actor is not safe for concurrent use.
type Actor struct {
	*Client
	Rand *rand.Rand
	load *Load
	only []Target // the servers that it uses; nil means all
}

// Only makes the actor use only one server, and returns the actor.
func (a *Actor) Only(t Target) *Actor {
	a.only = []Target{t}
	return a
}

func (a *Actor) targets() []Target {
	if a.only != nil {
		return a.only
	}
	return a.load.Targets
}

// Target returns a random server.
func (a *Actor) Target() Target {
	all := a.targets()
	return all[a.Rand.IntN(len(all))]
}

// Other returns a random server other than the named one, if there are several.
func (a *Actor) Other(than string) Target {
	for {
		if t := a.Target(); t.Name != than || len(a.targets()) == 1 {
			return t
		}
	}
}

// Persist sends a request to one server after the other until an answer is certain. ok is
// false if that answer is an error, or if ctx has ended.
func (a *Actor) Persist(ctx context.Context, ask func(Target) history.Op) (op history.Op, ok bool) {
	return persist(ctx, a.Target, ask)
}

const retryPause = 150 * time.Millisecond // shorter than Retry-After, so that the retries are a load

func persist(ctx context.Context, target func() Target, ask func(Target) history.Op) (op history.Op, ok bool) {
	for {
		op = ask(target())
		if !op.Doubtful() || ctx.Err() != nil {
			return op, op.OK()
		}
		_ = testkit.Pause(ctx, retryPause) // one more attempt follows the end of ctx
	}
}
