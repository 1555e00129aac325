// Package cache contains the store, the read model of one pod. The store is the folded log
// joined with the objects in the cluster. Each pod has a store of its own; all stores reach
// the same state.
package cache

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/cache/capacity"
	"k8s-cli/pkg/cache/eventring"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/samples"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/policy"
)

// A Store keeps a model up to date: the follower folds the log into it, and informers put
// records of the cluster into it. Each embedded part answers one group of readers from the
// model. A Store is safe for concurrent use.
type Store struct {
	guarded
	Views             // for the controller and the logs
	Answers           // for users
	Backlog           // order of admission
	Files             // uploads and outputs
	Users             // usage by user, for limits
	*eventring.Reader // events that the pod holds in memory

	Samples *samples.Samples // what the nodes of running tasks use

	rebuilding     bool
	pendingChanges []func(*model) []task.Key // changes of the cluster since the rebuild began

	listeners []func(task.Key)
	events    *eventring.Ring
	nodes     *nodefit.Nodes
	requests  *capacity.Ledger
	apiServer listwatch.Health
}

// A guarded model is read and written under its lock. A reader holds the lock for one look-up,
// a writer for one object or, if a change concerns many objects, for maxHold.
type guarded struct {
	mu sync.RWMutex
	*model

	lockedAt    time.Time     // when the writer that holds the lock got it
	longestHold time.Duration // for which a writer has held the lock
}

// maxHold is for how long a writer holds the lock. One entry of the log may change all tasks of a
// user.
const maxHold = 5 * time.Millisecond

func (g *guarded) lock() {
	g.mu.Lock()
	g.lockedAt = time.Now()
}

func (g *guarded) unlock() {
	g.longestHold = max(g.longestHold, time.Since(g.lockedAt))
	g.mu.Unlock()
}

// yield lets other goroutines have the lock if the caller has held it for maxHold.
func (g *guarded) yield() {
	if time.Since(g.lockedAt) >= maxHold {
		g.unlock()
		g.lock()
	}
}

// read calls look with the folded log, which look must not change.
func (g *guarded) read(look func(*state.State)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	look(g.state)
}

// New returns an empty store.
func New() *Store {
	events := eventring.New()
	settings := settings{nodes: nodefit.NewNodes(), backlogChanged: make(chan struct{}, 1)}
	s := &Store{guarded: guarded{model: newModel(settings, state.New())}, Reader: &events.Reader, events: events, nodes: settings.nodes}
	s.progress, s.requests, s.guarded.model.yield = events, capacity.NewLedger(settings.nodes), s.guarded.yield
	s.Views, s.Answers, s.Backlog, s.Files, s.Users = Views{&s.guarded}, Answers{&s.guarded}, Backlog{&s.guarded, settings.backlogChanged}, Files{&s.guarded}, Users{&s.guarded}
	s.Samples = samples.New(s.TaskView)
	return s
}

// OnChange makes the store call f after every change of an object. f must not block. Call
// OnChange before anything is put into the store.
func (s *Store) OnChange(f func(task.Key)) { s.listeners = append(s.listeners, f) }

// RestrictClaims sets which claims tasks may mount by name. Call RestrictClaims before
// anything is put into the store.
func (s *Store) RestrictClaims(p policy.Claims) { s.volumes.policy = p }

// SetAdmissionLimits sets the limits of admission. Call SetAdmissionLimits before anything
// is put into the store.
func (s *Store) SetAdmissionLimits(l task.AdmissionLimits) { s.admission.limits = l }

// Nodes returns the nodes of the cluster that the store knows.
func (s *Store) Nodes() *nodefit.Nodes { return s.nodes }

// Capacity returns what the nodes of the cluster offer, and what the tasks' pods request.
func (s *Store) Capacity() overview.Capacity { return s.requests.Capacity() }

// CapacityVersion returns numbers that change whenever Capacity may change.
func (s *Store) CapacityVersion() [2]uint64 { return s.requests.CapacityVersion() }

// ClusterLag reports for how long the API server has not answered this pod; err is nil if the
// API server answers.
func (s *Store) ClusterLag() (age time.Duration, err error) { return s.apiServer.Lag() }

// Session returns the position of the log, and whether a session that began there has ended.
func (s *Store) Session(user, id string, began uint64) (log string, seq uint64, ended bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.Log, s.state.Seq, s.state.SessionEnded(user, id, began)
}

// Fold applies one entry of the log. The error is task.ErrUnknownCommand if this release
// cannot read the entry, and task.ErrDiverged if the entry shows that the state differs from
// the state of the other pods.
func (s *Store) Fold(e task.Entry) ([]task.Result, error) {
	s.lock()
	result, changed := s.guarded.model.fold(e)
	s.unlock()
	s.events.Add(e.Seq, result.Events...)
	s.notify(changed)
	if result.Unknown != nil {
		return result.Results, result.Unknown
	}
	return result.Results, s.verifySnapshot(result.SnapshotStored)
}

// observe applies a change of the cluster; change returns the keys of the changed objects.
// During a rebuild, change is called again on the next model.
func (s *Store) observe(change func(*model) []task.Key) {
	s.lock()
	if s.rebuilding {
		s.pendingChanges = append(s.pendingChanges, change)
	}
	changed := change(s.guarded.model)
	s.unlock()
	s.notify(changed)
}

func (s *Store) notify(changed []task.Key) {
	for _, k := range changed {
		for _, f := range s.listeners {
			f(k)
		}
	}
}

// refreshReasons explains the tasks that wait for a node again.
func (s *Store) refreshReasons() {
	s.explainSet(func(m *model) map[*taskItem]bool { return m.unplaced })
}

// refreshWaits explains the tasks that wait for their next attempt again, because their
// messages contain the remaining time.
func (s *Store) refreshWaits() {
	s.explainSet(func(m *model) map[*taskItem]bool { return m.backingOff })
}

// explainSet explains the tasks of a set of the model again, one task at a time.
func (s *Store) explainSet(of func(*model) map[*taskItem]bool) {
	s.mu.RLock()
	items := slices.Collect(maps.Keys(of(s.guarded.model)))
	s.mu.RUnlock()
	for _, item := range items {
		s.mu.Lock()
		if of(s.guarded.model)[item] {
			s.explainAgain([]*taskItem{item})
		}
		s.mu.Unlock()
	}
}
