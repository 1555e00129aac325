// Package cache holds the picture: what the log says of every task and volume,
// joined with what the cluster shows of it. Each pod has its own; all come to the
// same one.
package cache

import (
	"sync"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A Renderer encodes the answers for one object. It is pure.
type Renderer interface {
	Phase(task.View) task.Phase
	Task(task.View) []byte
	Volume(task.VolumeView) []byte
}

// A Picture is safe for use by many goroutines. Readers hold its lock for a
// look-up, writers for one object.
type Picture struct {
	render Renderer

	mu sync.RWMutex
	contents
	rebuilding bool
	meanwhile  []func(*Picture) []task.Key // what the cluster has shown since that began

	listen      []func(task.Key)
	events      ring
	limits      task.AdmissionLimits
	claimPolicy task.ClaimPolicy
	waits       chan struct{} // see BacklogChanged
	nodes       *Nodes
	reach       reach
	answers     answers
}

// New returns an empty picture whose answers render encodes.
func New(render Renderer) *Picture {
	waits := make(chan struct{}, 1)
	p := &Picture{render: render, nodes: newNodes(), waits: waits, contents: newContents(waits)}
	p.events.begin(0, task.Place{})
	return p
}

// OnChange makes the picture call f after every change of an object. f must not
// block. It is to be called before anything is put into the picture.
func (p *Picture) OnChange(f func(task.Key)) { p.listen = append(p.listen, f) }

// RestrictClaims sets which claims tasks may mount by their names. It is to be
// called before anything is put into the picture.
func (p *Picture) RestrictClaims(policy task.ClaimPolicy) { p.claimPolicy = policy }

// Nodes returns what is known of the nodes of the cluster.
func (p *Picture) Nodes() *Nodes { return p.nodes }

// Fold applies one entry of the log. The error is task.ErrUnknownCommand if
// this release cannot read it, and task.ErrAstray if it shows that the picture
// is not what the other pods have.
func (p *Picture) Fold(e task.Entry) ([]task.Verdict, error) {
	p.mu.Lock()
	result := p.state.Fold(e)
	changed := result.Changed
	p.forgotten(result.Changed)
	p.backlog.begin(len(result.Changed))
	for _, k := range result.Changed {
		changed = append(changed, p.folded(k)...)
		p.keep(k)
	}
	p.backlog.settle()
	p.mark(result.Marked)
	p.events.add(e.Seq, result.Events...)
	p.mu.Unlock()
	p.tell(changed)
	if result.Unknown != nil {
		return result.Verdicts, result.Unknown
	}
	return result.Verdicts, p.compare(result.Kept)
}

// folded brings an object of the picture to what the state says of it, and
// returns what else changed thereby.
func (p *Picture) folded(k task.Key) []task.Key {
	if k.Kind == task.KindVolume {
		return p.foldedVolume(k.ID)
	}
	kept := p.state.Tasks[k.ID]
	if kept == nil {
		return nil
	}
	item := p.task(k.ID)
	before := item.kept
	if before == nil {
		p.shelve(kept.User(), func(s *shelf) { s.tasks = append(s.tasks, item) })
	}
	if before != nil && !before.Applied() && kept.Applied() {
		p.backlog.applied(kept.UpdatedAt())
	}
	p.finished.note(before, kept)
	if p.backlog.size > 0 {
		p.backlog.change()
	}
	item.setRecord(kept)
	p.noteMounts(kept)
	p.refresh(item)
	return nil
}

// Reset forgets the log, and keeps what the cluster shows, which nothing may
// change for long: it is told to be looked at anew.
func (p *Picture) Reset() { p.rebuild(state.New()) }

func (p *Picture) tell(changed []task.Key) {
	for _, k := range changed {
		for _, f := range p.listen {
			f(k)
		}
	}
}

// Keys returns all objects that something may be left to do for, those of the
// cluster that have no record included. Of those of the history whose objects are
// gone nothing is left: a watch tells if one comes late.
func (p *Picture) Keys() []task.Key {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var keys []task.Key
	for id, item := range p.volumes {
		if item.view.Gone && item.view.Claim == nil {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	for id := range p.strays {
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	for id, item := range p.tasks {
		if item.kept != nil && item.kept.Gone() && len(item.jobs)+len(item.pods) == 0 {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindTask, ID: id})
	}
	return keys
}

// TaskView returns what is known of a task, whoever owns it.
func (p *Picture) TaskView(id string) task.View {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.tasks[id] == nil {
		return task.View{}
	}
	return p.tasks[id].view()
}

// WatchTask returns what is known of a task, and a channel that is closed when
// that changes; it is nil for a task that nothing is known of.
func (p *Picture) WatchTask(id string) (v task.View, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tasks[id] == nil {
		return task.View{}, nil
	}
	return p.tasks[id].view(), p.tasks[id].changes()
}

// VolumeView returns what is known of a volume, whoever owns it; of a claim that
// has no record, the claim.
func (p *Picture) VolumeView(id string) task.VolumeView {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.volumes[id] == nil {
		return task.VolumeView{Claim: p.claims[p.strays[id]]}
	}
	return p.volumes[id].view
}

// TaskAnswer returns the encoded answer for a task of user.
func (p *Picture) TaskAnswer(user, id string) ([]byte, bool) {
	p.mu.RLock()
	item := p.tasks[id]
	if item == nil || item.kept == nil || item.kept.User() != user {
		p.mu.RUnlock()
		return nil, false
	}
	d := p.draft(item)
	p.mu.RUnlock()
	return p.encode(d), true
}

// VolumeAnswer returns the encoded answer for a volume of user.
func (p *Picture) VolumeAnswer(user, id string) ([]byte, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.volumes[id]
	if item == nil || item.view.Deleted || item.view.Create.User != user {
		return nil, false
	}
	return item.body, true
}
