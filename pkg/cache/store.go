// Package cache holds the store: what the log says of every task and volume,
// joined with what the cluster shows of it. Each pod has its own; all come to the
// same one.
package cache

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/cache/eventring"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
)

// A Renderer encodes the answers for one object. It is pure.
type Renderer interface {
	Phase(task.View) task.Phase
	Task(task.View) []byte
	Volume(task.VolumeView) []byte
}

// A Store is safe for use by many goroutines. It keeps a model up to date: the log
// is folded into it, and informers put into it what the cluster shows. The embedded
// parts answer from the model, each for one group of readers.
type Store struct {
	guarded
	Views             // for the controller and for logs
	Answers           // encoded, for users
	Backlog           // which tasks are next to get Jobs
	Uploads           // archives of files
	Users             // what users have, for limits
	*eventring.Reader // events that the pod holds in memory

	rebuilding     bool
	pendingChanges []func(*model) []task.Key // what the cluster has shown since that began

	listeners []func(task.Key)
	events    *eventring.Ring
	nodes     *nodefit.Nodes
	apiServer listwatch.Health
}

// A guarded model is read and written under its lock. Readers hold the lock for a
// look-up, writers for one object.
type guarded struct {
	mu sync.RWMutex
	*model
}

// New returns an empty store whose answers render encodes.
func New(render Renderer) *Store {
	events := eventring.New()
	settings := settings{render: render, nodes: nodefit.NewNodes(), backlogChanged: make(chan struct{}, 1)}
	s := &Store{guarded: guarded{model: newModel(settings, state.New())}, Reader: &events.Reader, events: events, nodes: settings.nodes}
	s.progress = events
	s.Views, s.Backlog, s.Uploads, s.Users = Views{&s.guarded}, Backlog{&s.guarded, settings.backlogChanged}, Uploads{&s.guarded}, Users{&s.guarded}
	s.Answers = Answers{&s.guarded, render, &responseCache{}}
	return s
}

// OnChange makes the store call f after every change of an object. f must not
// block. It is to be called before anything is put into the store.
func (s *Store) OnChange(f func(task.Key)) { s.listeners = append(s.listeners, f) }

// RestrictClaims sets which claims tasks may mount by their names. It is to be
// called before anything is put into the store.
func (s *Store) RestrictClaims(p policy.Claims) { s.volumes.policy = p }

// Limit sets which tasks are admitted. It is to be called before anything is put
// into the store.
func (s *Store) Limit(l task.AdmissionLimits) { s.admission.limits = l }

// Nodes returns what is known of the nodes of the cluster.
func (s *Store) Nodes() *nodefit.Nodes { return s.nodes }

// ClusterLag reports for how long the API server has not answered this pod; err is
// nil if it does.
func (s *Store) ClusterLag() (age time.Duration, err error) { return s.apiServer.Lag() }

// Fold applies one entry of the log. The error is task.ErrUnknownCommand if
// this release cannot read it, and task.ErrDiverged if it shows that the store
// is not what the other pods have.
func (s *Store) Fold(e task.Entry) ([]task.Result, error) {
	s.mu.Lock()
	result, changed := s.guarded.model.fold(e)
	s.events.Add(e.Seq, result.Events...)
	s.mu.Unlock()
	s.notify(changed)
	if result.Unknown != nil {
		return result.Results, result.Unknown
	}
	return result.Results, s.verifySnapshot(result.SnapshotStored)
}

// observe changes what the cluster shows. change returns which objects change
// thereby; while the store is rebuilt it is repeated on the next model.
func (s *Store) observe(change func(*model) []task.Key) {
	s.mu.Lock()
	changed := change(s.guarded.model)
	if s.rebuilding {
		s.pendingChanges = append(s.pendingChanges, change)
	}
	s.mu.Unlock()
	s.notify(changed)
}

func (s *Store) notify(changed []task.Key) {
	for _, k := range changed {
		for _, f := range s.listeners {
			f(k)
		}
	}
}

// refreshReasons explains the tasks that wait for a node anew.
func (s *Store) refreshReasons() {
	s.mu.RLock()
	items := slices.Collect(maps.Keys(s.unplaced))
	s.mu.RUnlock()
	for _, item := range items {
		s.mu.Lock()
		if s.unplaced[item] {
			s.explainAgain([]*taskItem{item})
		}
		s.mu.Unlock()
	}
}
