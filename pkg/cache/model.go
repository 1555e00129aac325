package cache

import (
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/eventring"
	"k8s-cli/pkg/cache/explain"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A model is the folded log joined with the objects in the cluster, and everything that
// follows from both. A model has no lock: see guarded. The model is replaced as a whole when
// the log is read anew.
type model struct {
	settings
	state      *state.State
	tasks      map[string]*taskItem
	index      *index
	volumes    *volumes
	admission  *admission
	history    history
	k8sEvents  explain.Events
	unplaced   map[*taskItem]bool // tasks whose view depends on the nodes of the cluster: a pod waits for a node or runs on one
	backingOff map[*taskItem]bool // tasks with a node that waits for its next attempt
	taken      *state.Snapshot    // snapshot at the last marker, until it is compared or stored
	progress   *eventring.Ring    // receives events that only the cluster shows; nil while the model is built
	yield      func()             // called between the changes of many objects, see guarded.yield; does nothing while the model is built
}

// settings stay when a model is replaced.
type settings struct {
	nodes          *nodefit.Nodes
	backlogChanged chan struct{} // see Backlog.BacklogChanged
}

// newModel returns a model of a state; the objects of the state are not applied yet.
func newModel(set settings, s *state.State) *model {
	index := newIndex()
	return &model{
		settings: set, state: s, tasks: map[string]*taskItem{}, index: index, volumes: newVolumes(index),
		admission: newAdmission(s, set.backlogChanged),
		k8sEvents: explain.Events{}, unplaced: map[*taskItem]bool{}, backingOff: map[*taskItem]bool{},
		yield: func() {},
	}
}

// fold applies one entry of the log, and returns the keys of the changed objects. Readers may
// see the changes of an entry one by one, and see all of them before anybody is told that the entry
// is folded.
func (m *model) fold(e task.Entry) (result state.FoldResult, changed []task.Key) {
	m.state.Yield = m.yield
	result = m.state.Fold(e)
	changed = result.Changed
	m.yield()
	m.removeExpired(result.Changed)
	m.yield()
	m.admission.queue.beginBatch(len(result.Changed))
	for _, k := range result.Changed {
		m.yield()
		switch k.Kind {
		case task.KindTask:
			m.applyTask(k.ID)
		case task.KindVolume:
			changed = append(changed, m.applyVolume(k.ID)...)
		}
		m.history.add(m.state, k)
	}
	m.yield()
	m.admission.queue.endBatch()
	m.takeSnapshot(result.Snapshot)
	return result, changed
}

// applyTask updates a task from its record in the state.
func (m *model) applyTask(id string) {
	record := m.state.Tasks[id]
	if record == nil {
		return
	}
	item := m.item(id)
	before := item.record
	item.setRecord(record)
	if before == nil {
		m.index.addTask(record.User(), item)
	}
	m.admission.recordChange(before, record)
	m.volumes.updateMounts(record)
	m.refresh(item)
}

// applyVolume updates a volume from its record in the state, and returns the tasks that
// changed as a consequence.
func (m *model) applyVolume(id string) []task.Key {
	record := m.state.Volumes[id]
	if record == nil {
		return nil
	}
	item := m.volumes.apply(record)
	m.volumes.join(item, m.k8sEvents)
	affected := m.volumes.waitingFor(record.Create.Volume.Name)
	if record.Deleted || record.CleanedUp {
		m.volumes.setReleased(record.ClaimName(), !record.CleanedUp)
		affected = append(affected, m.tasksMounting(record.ClaimName())...)
	}
	return m.refreshAll(affected)
}

// item returns the item of a task, and creates the item if necessary.
func (m *model) item(id string) *taskItem {
	item := m.tasks[id]
	if item == nil {
		item = &taskItem{id: id}
		m.tasks[id] = item
	}
	return item
}

// refresh derives the view of a task again and updates everything that depends on the view.
func (m *model) refresh(i *taskItem) task.View {
	missed := i.misses()
	v, awaited, waitsForNode := m.derive(i)
	m.volumes.await(i, awaited)
	m.admission.update(i, &v)
	setMember(m.unplaced, i, waitsForNode)
	setMember(m.backingOff, i, isBackingOff(v.Notes))
	if v.Record != nil {
		i.version = m.index.bump(v.Submit.User)
		m.index.count(i, i.listedAs(v.CurrentPhase(), &v))
	}
	i.setDerived(&v)
	if g := i.jobGroup(); g.Follows() && (i.misses() != missed || g.Index == g.Tasks-1 && !i.record.Admitted()) {
		m.refreshFirst(g.ID)
	}
	return v
}

// refreshFirst refreshes the first task of a job group, which waits for the volumes of all tasks.
func (m *model) refreshFirst(id string) {
	if first := m.tasks[id]; first != nil {
		m.refresh(first)
	}
}

// derive joins the record, Jobs and pods of a task, finds its claims, and explains why its
// nodes wait. derive changes no state. awaited holds the names of the volumes that the task
// waits for.
func (m *model) derive(i *taskItem) (v task.View, awaited []string, waitsForNode bool) {
	v.Record = i.record.Record()
	i.join(&v)
	if v.Record == nil {
		return v, nil, false
	}
	awaited = i.unresolvedVolumes(v.Record)
	m.volumes.resolveAll(&v, awaited)
	m.addMissingOfOthers(&v)
	v.Released = m.volumes.released(v.Record)
	v.Notes, waitsForNode = m.explainer().Explain(&v, i.requirements())
	return v, awaited, waitsForNode
}

// addMissingOfOthers adds the missing volumes of the other tasks of a job group to its first task,
// whose admission admits all tasks.
func (m *model) addMissingOfOthers(v *task.View) {
	if !v.Submit.JobGroup.Leads() || v.UIDs != nil || v.Phase.Over() {
		return
	}
	for _, id := range m.state.JobGroup(v.Submit.JobGroup.ID) {
		if other := m.tasks[id]; id != v.Submit.ID && other != nil && other.misses() {
			v.Missing = append(slices.Clip(v.Missing), other.extra.missing...)
		}
	}
}

func (m *model) explainer() explain.Explainer {
	return explain.Explainer{Nodes: m.nodes, Claims: m.volumes.claims, Events: m.k8sEvents}
}

// setMember adds a task to a set, or removes the task.
func setMember(set map[*taskItem]bool, i *taskItem, isMember bool) {
	if isMember {
		set[i] = true
	} else {
		delete(set, i)
	}
}

func isBackingOff(notes []task.Note) bool {
	return slices.ContainsFunc(notes, func(n task.Note) bool { return n.Reason == task.ReasonBackOff })
}

// refreshAll refreshes tasks and returns their keys.
func (m *model) refreshAll(items []*taskItem) (changed []task.Key) {
	for _, item := range items {
		if m.yield(); m.tasks[item.id] == item {
			m.refresh(item)
			changed = append(changed, task.Key{Kind: task.KindTask, ID: item.id})
		}
	}
	return changed
}

// changeTask applies a change of a task's objects in the cluster.
func (m *model) changeTask(id string, set func(*taskItem)) []task.Key {
	item := m.item(id)
	set(item)
	m.reportProgress(item, m.refresh(item))
	if item.empty() {
		delete(m.tasks, id)
		delete(m.unplaced, item)
		delete(m.backingOff, item)
	}
	return []task.Key{{Kind: task.KindTask, ID: id}}
}

// changeClaim applies a change of a claim in the cluster; nil means that the claim was
// deleted.
func (m *model) changeClaim(name, id string, c *task.Claim) []task.Key {
	m.volumes.setClaim(name, c)
	changed := m.refreshAll(m.volumes.waitingFor(name))
	m.explainAgain(m.tasksMounting(name))
	if item := m.volumes.items[id]; item != nil {
		m.volumes.join(item, m.k8sEvents)
		changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
	}
	if m.volumes.updateOrphan(name, id, c) {
		changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
	}
	return changed
}

// tasksMounting returns the tasks whose volumes were resolved to a claim.
func (m *model) tasksMounting(claim string) (items []*taskItem) {
	for id := range m.volumes.mounts[claim].tasks {
		if item := m.tasks[id]; item != nil {
			items = append(items, item)
		}
	}
	return items
}

// changeK8sEvents changes the events, and explains again the tasks that e is about.
func (m *model) changeK8sEvents(e *convert.K8sEvent, change func(explain.Events)) {
	change(m.k8sEvents)
	var items []*taskItem
	if e.Kind == "PersistentVolumeClaim" {
		items = m.tasksMounting(e.Name)
		if item := m.volumes.ofClaim(e.Name); item != nil {
			m.volumes.join(item, m.k8sEvents)
		}
	} else {
		for part := range strings.SplitSeq(e.Name, "-") { // names of Jobs and pods contain the id of the task
			if item := m.tasks[part]; item != nil {
				items = append(items, item)
			}
		}
	}
	m.explainAgain(items)
}

// explainAgain explains again why tasks wait. Explanations are for users only, so the
// controller is not notified.
func (m *model) explainAgain(items []*taskItem) {
	for _, item := range items {
		if m.yield(); m.tasks[item.id] != item || item.record == nil || item.record.Phase().Over() {
			continue
		}
		m.reportProgress(item, m.refresh(item))
	}
}

// reportProgress adds an event if the reason of a task has changed and the log does not
// contain the reason.
func (m *model) reportProgress(i *taskItem, v task.View) {
	why, changed := i.updateReason(&v)
	if !changed || why.Reason == "" || why.Reason == v.Reason || m.progress == nil {
		return
	}
	e := task.EventOfTask(v.Record, task.EventProgress)
	e.Time, e.Reason, e.Message = time.Now().UTC(), why.Reason, why.Message
	m.progress.Add(0, e)
}
