package cache

import (
	"cmp"
	"maps"
	"slices"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// contents is what a picture is replaced by as a whole: what the log says and
// what the cluster shows.
type contents struct {
	state    *state.State
	tasks    map[string]*taskItem
	volumes  map[string]*volumeItem
	claims   map[string]*task.Claim        // by name
	strays   map[string]string             // names of claims of ours that have no record, by the volume's id
	waiting  map[string]map[*taskItem]bool // tasks whose volumes are not resolved yet, by the names they gave
	mounts   map[string]mount              // by the name of the claim
	history  history
	byUser   map[string]*shelf
	all      *shelf
	taken    *state.Snapshot // at the last mark, until it was compared or stored
	backlog  *backlog
	finished finished
	phases   phaseCount
	unplaced map[*taskItem]bool // tasks that the nodes have to do with: with a pod that waits for one, or runs
	notices  map[string]*notice // the newest, by the UID of what it is about
	version  uint64             // counts the changes of tasks

	unschedulable map[string]int // pods for which the scheduler finds no node, by user
}

// newContents returns contents of which the log says nothing.
func newContents(waits chan struct{}) contents {
	return contents{
		state: state.New(), tasks: map[string]*taskItem{}, volumes: map[string]*volumeItem{},
		claims: map[string]*task.Claim{}, strays: map[string]string{}, waiting: map[string]map[*taskItem]bool{}, mounts: map[string]mount{},
		byUser: map[string]*shelf{}, all: &shelf{}, backlog: newBacklog(waits),
		phases: phaseCount{}, unplaced: map[*taskItem]bool{}, notices: map[string]*notice{}, unschedulable: map[string]int{},
	}
}

// versionStep is more than the changes of any picture. The versions in contents
// that are built beside others are beyond those.
const versionStep = 1 << 40

// rebuild replaces what the log says by s and keeps what the cluster shows. It
// builds beside the picture, which answers as before until it is replaced at once.
// Nothing may be folded meanwhile.
func (p *Picture) rebuild(s *state.State) {
	next := p.shown()
	next.state = s
	for _, c := range next.claims {
		next.noteStray(c)
	}
	volumesByOrder := func(a, b *task.VolumeRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, v := range slices.SortedFunc(maps.Values(s.Volumes), volumesByOrder) {
		next.foldedVolume(v.Create.ID)
	}
	tasksByOrder := func(a, b *state.Task) int { return cmp.Compare(a.Order, b.Order) }
	for _, t := range slices.SortedFunc(maps.Values(s.Tasks), tasksByOrder) {
		next.folded(task.Key{Kind: task.KindTask, ID: t.ID})
	}
	for _, item := range next.tasks {
		if item.kept == nil {
			next.refresh(item)
		}
	}
	next.history = historyOf(s)
	before := p.replace(next)
	for _, item := range before.tasks { // which nobody else sees any more
		if item.few != nil && item.few.changed != nil {
			close(item.few.changed)
		}
	}
	p.nodes.again()
	p.tell(p.Keys())
}

// shown returns a picture of what the cluster shows alone, and has what changes of
// that noted until replace.
func (p *Picture) shown() *Picture {
	p.mu.Lock()
	p.rebuilding, p.meanwhile = true, nil
	p.mu.Unlock()
	next := &Picture{render: p.render, nodes: p.nodes, limits: p.limits, waits: p.waits, contents: newContents(p.waits)}
	p.mu.RLock()
	defer p.mu.RUnlock()
	next.claims, next.notices, next.version = maps.Clone(p.claims), maps.Clone(p.notices), p.version+versionStep
	for id, item := range p.tasks {
		if len(item.jobs)+len(item.pods) == 0 {
			continue
		}
		shown := &taskItem{id: id, jobs: slices.Clone(item.jobs), pods: slices.Clone(item.pods)}
		if f := item.few; f != nil {
			shown.few = &few{needs: maps.Clone(f.needs), gone: maps.Clone(f.gone), reason: f.reason}
		}
		next.tasks[id] = shown
	}
	return next
}

// replace puts the contents of next into the picture, with what the cluster has
// shown since they were begun, and returns those of before.
func (p *Picture) replace(next *Picture) contents {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, change := range p.meanwhile {
		change(next)
	}
	before := p.contents
	p.contents, p.rebuilding, p.meanwhile = next.contents, false, nil
	p.events.begin(p.state.Seq, p.state.LastEvent())
	p.backlog.change()
	return before
}

// observe changes what the cluster shows. change returns what else changes
// thereby; while the picture is rebuilt it is repeated on the next contents.
func (p *Picture) observe(change func(*Picture) []task.Key) {
	p.mu.Lock()
	changed := change(p)
	if p.rebuilding {
		p.meanwhile = append(p.meanwhile, change)
	}
	p.mu.Unlock()
	p.tell(changed)
}
