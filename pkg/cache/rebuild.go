package cache

import (
	"cmp"
	"maps"
	"slices"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// contents is what a store is replaced by as a whole: what the log says and
// what the cluster shows.
type contents struct {
	state           *state.State
	tasks           map[string]*taskItem
	volumes         map[string]*volumeItem
	claims          map[string]*task.Claim        // by name
	orphans         map[string]string             // names of claims of ours that have no record, by the volume's id
	awaitingVolumes map[string]map[*taskItem]bool // tasks whose volumes are not resolved yet, by the names they gave
	mounts          map[string]mount              // by the name of the claim
	history         history
	byUser          map[string]*userIndex
	all             *userIndex
	taken           *state.Snapshot // at the last mark, until it was compared or stored
	backlog         *fairQueue
	finished        finished
	phases          phaseCount
	unplaced        map[*taskItem]bool           // tasks that the nodes have to do with: with a pod that waits for one, or runs
	k8sEvents       map[string]*convert.K8sEvent // the newest, by the UID of what it is about
	version         uint64                       // counts the changes of tasks

	unschedulable map[string]int // pods for which the scheduler finds no node, by user
}

// newContents returns contents of which the log says nothing.
func newContents(waits chan struct{}) contents {
	return contents{
		state: state.New(), tasks: map[string]*taskItem{}, volumes: map[string]*volumeItem{},
		claims: map[string]*task.Claim{}, orphans: map[string]string{}, awaitingVolumes: map[string]map[*taskItem]bool{}, mounts: map[string]mount{},
		byUser: map[string]*userIndex{}, all: &userIndex{}, backlog: newFairQueue(waits),
		phases: phaseCount{}, unplaced: map[*taskItem]bool{}, k8sEvents: map[string]*convert.K8sEvent{}, unschedulable: map[string]int{},
	}
}

// versionStep is more than the changes of any store. The versions in contents
// that are built beside others are beyond those.
const versionStep = 1 << 40

// rebuild replaces what the log says by s and keeps what the cluster shows. It
// builds beside the store, which answers as before until it is replaced at once.
// Nothing may be folded meanwhile.
func (p *Store) rebuild(s *state.State) {
	next := p.clusterOnly()
	next.state = s
	for _, c := range next.claims {
		next.updateOrphan(c)
	}
	volumesByOrder := func(a, b *task.VolumeRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, v := range slices.SortedFunc(maps.Values(s.Volumes), volumesByOrder) {
		next.applyVolume(v.Create.ID)
	}
	tasksByOrder := func(a, b *state.CompactRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, t := range slices.SortedFunc(maps.Values(s.Tasks), tasksByOrder) {
		next.applyTask(task.Key{Kind: task.KindTask, ID: t.ID})
	}
	for _, item := range next.tasks {
		if item.record == nil {
			next.refresh(item)
		}
	}
	next.history = historyOf(s)
	before := p.replace(next)
	for _, item := range before.tasks { // which nobody else sees any more
		if item.extra != nil && item.extra.changed != nil {
			close(item.extra.changed)
		}
	}
	p.nodes.Invalidate()
	p.notify(p.Keys())
}

// clusterOnly returns a store of what the cluster shows alone, and has what changes of
// that noted until replace.
func (p *Store) clusterOnly() *Store {
	p.mu.Lock()
	p.rebuilding, p.pendingChanges = true, nil
	p.mu.Unlock()
	next := &Store{render: p.render, nodes: p.nodes, limits: p.limits, claimPolicy: p.claimPolicy, backlogChanged: p.backlogChanged, contents: newContents(p.backlogChanged)}
	p.mu.RLock()
	defer p.mu.RUnlock()
	next.claims, next.k8sEvents, next.version = maps.Clone(p.claims), maps.Clone(p.k8sEvents), p.version+versionStep
	for id, item := range p.tasks {
		if len(item.jobs)+len(item.pods) == 0 {
			continue
		}
		copied := &taskItem{id: id, jobs: slices.Clone(item.jobs), pods: slices.Clone(item.pods)}
		if f := item.extra; f != nil {
			copied.extra = &taskExtra{requirements: maps.Clone(f.requirements), gone: maps.Clone(f.gone), reason: f.reason}
		}
		next.tasks[id] = copied
	}
	return next
}

// replace puts the contents of next into the store, with what the cluster has
// shown since they were begun, and returns those of before.
func (p *Store) replace(next *Store) contents {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, change := range p.pendingChanges {
		change(next)
	}
	before := p.contents
	p.contents, p.rebuilding, p.pendingChanges = next.contents, false, nil
	p.events.reset(p.state.Seq, p.state.LastEvent())
	p.backlog.bumpRevision()
	return before
}

// observe changes what the cluster shows. change returns what else changes
// thereby; while the store is rebuilt it is repeated on the next contents.
func (p *Store) observe(change func(*Store) []task.Key) {
	p.mu.Lock()
	changed := change(p)
	if p.rebuilding {
		p.pendingChanges = append(p.pendingChanges, change)
	}
	p.mu.Unlock()
	p.notify(changed)
}
