// Package cache holds the store: what the log says of every task and volume,
// joined with what the cluster shows of it. Each pod has its own; all come to the
// same one.
package cache

import (
	"sync"
	"time"

	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A Renderer encodes the answers for one object. It is pure.
type Renderer interface {
	Phase(task.View) task.Phase
	Task(task.View) []byte
	Volume(task.VolumeView) []byte
}

// A Store is safe for use by many goroutines. Readers hold its lock for a
// look-up, writers for one object.
type Store struct {
	render Renderer

	mu sync.RWMutex
	contents
	rebuilding     bool
	pendingChanges []func(*Store) []task.Key // what the cluster has shown since that began

	listeners      []func(task.Key)
	events         ring
	limits         task.AdmissionLimits
	claimPolicy    task.ClaimPolicy
	backlogChanged chan struct{} // see BacklogChanged
	nodes          *nodefit.Nodes
	apiServer      listwatch.Health
	responses      responseCache
}

// New returns an empty store whose answers render encodes.
func New(render Renderer) *Store {
	waits := make(chan struct{}, 1)
	p := &Store{render: render, nodes: nodefit.NewNodes(), backlogChanged: waits, contents: newContents(waits)}
	p.events.reset(0, task.EventID{})
	return p
}

// OnChange makes the store call f after every change of an object. f must not
// block. It is to be called before anything is put into the store.
func (p *Store) OnChange(f func(task.Key)) { p.listeners = append(p.listeners, f) }

// RestrictClaims sets which claims tasks may mount by their names. It is to be
// called before anything is put into the store.
func (p *Store) RestrictClaims(policy task.ClaimPolicy) { p.claimPolicy = policy }

// Nodes returns what is known of the nodes of the cluster.
func (p *Store) Nodes() *nodefit.Nodes { return p.nodes }

// Fold applies one entry of the log. The error is task.ErrUnknownCommand if
// this release cannot read it, and task.ErrDiverged if it shows that the store
// is not what the other pods have.
func (p *Store) Fold(e task.Entry) ([]task.Result, error) {
	p.mu.Lock()
	result := p.state.Fold(e)
	changed := result.Changed
	p.removeExpired(result.Changed)
	p.backlog.beginBatch(len(result.Changed))
	for _, k := range result.Changed {
		changed = append(changed, p.applyTask(k)...)
		p.addToHistory(k)
	}
	p.backlog.endBatch()
	p.takeSnapshot(result.Snapshot)
	p.events.add(e.Seq, result.Events...)
	p.mu.Unlock()
	p.notify(changed)
	if result.Unknown != nil {
		return result.Results, result.Unknown
	}
	return result.Results, p.verifySnapshot(result.SnapshotStored)
}

// applyTask brings an object of the store to what the state says of it, and
// returns what else changed thereby.
func (p *Store) applyTask(k task.Key) []task.Key {
	if k.Kind == task.KindVolume {
		return p.applyVolume(k.ID)
	}
	record := p.state.Tasks[k.ID]
	if record == nil {
		return nil
	}
	item := p.task(k.ID)
	before := item.record
	if before == nil {
		p.addToIndex(record.User(), func(s *userIndex) { s.tasks = append(s.tasks, item) })
	}
	if before != nil && !before.Applied() && record.Applied() {
		p.backlog.recordCreation(record.UpdatedAt())
	}
	p.finished.update(before, record)
	if p.backlog.size > 0 {
		p.backlog.bumpRevision()
	}
	item.setRecord(record)
	p.updateMounts(record)
	p.refresh(item)
	return nil
}

// Reset forgets the log, and keeps what the cluster shows, which nothing may
// change for long: it is told to be looked at anew.
func (p *Store) Reset() { p.rebuild(state.New()) }

func (p *Store) notify(changed []task.Key) {
	for _, k := range changed {
		for _, f := range p.listeners {
			f(k)
		}
	}
}

// Keys returns all objects that something may be left to do for, those of the
// cluster that have no record included. Of those of the history whose objects are
// gone nothing is left: a watch tells if one comes late.
func (p *Store) Keys() []task.Key {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var keys []task.Key
	for id, item := range p.volumes {
		if item.view.CleanedUp && item.view.Claim == nil {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	for id := range p.orphans {
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	for id, item := range p.tasks {
		if item.record != nil && item.record.CleanedUp() && len(item.jobs)+len(item.pods) == 0 {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindTask, ID: id})
	}
	return keys
}

// TaskView returns what is known of a task, whoever owns it.
func (p *Store) TaskView(id string) task.View {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.tasks[id] == nil {
		return task.View{}
	}
	return p.tasks[id].view()
}

// WatchTask returns what is known of a task, and a channel that is closed when
// that changes; it is nil for a task that nothing is known of.
func (p *Store) WatchTask(id string) (v task.View, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks[id] == nil {
		return task.View{}, nil
	}
	return p.tasks[id].view(), p.tasks[id].changes()
}

// VolumeView returns what is known of a volume, whoever owns it; of a claim that
// has no record, the claim.
func (p *Store) VolumeView(id string) task.VolumeView {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.volumes[id] == nil {
		return task.VolumeView{Claim: p.claims[p.orphans[id]]}
	}
	return p.volumes[id].view
}

// TaskAnswer returns the encoded answer for a task of user.
func (p *Store) TaskAnswer(user, id string) ([]byte, bool) {
	p.mu.RLock()
	item := p.tasks[id]
	if item == nil || item.record == nil || item.record.User() != user {
		p.mu.RUnlock()
		return nil, false
	}
	d := p.renderInput(item)
	p.mu.RUnlock()
	return p.encode(d), true
}

// VolumeAnswer returns the encoded answer for a volume of user.
func (p *Store) VolumeAnswer(user, id string) ([]byte, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.volumes[id]
	if item == nil || item.view.Deleted || item.view.Create.User != user {
		return nil, false
	}
	return item.body, true
}

// ClusterLag reports for how long the API server has not answered this pod; err is
// nil if it does.
func (p *Store) ClusterLag() (age time.Duration, err error) { return p.apiServer.Lag() }
