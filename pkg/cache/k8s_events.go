package cache

import (
	"strings"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
)

func (p *Store) putK8sEvent(n *convert.K8sEvent) {
	p.updateK8sEvents(n, func(all map[string]*convert.K8sEvent) {
		if old := all[n.UID]; old == nil || !n.At.Before(old.At) {
			all[n.UID] = n
		}
	})
}

func (p *Store) dropK8sEvent(n *convert.K8sEvent) {
	p.updateK8sEvents(n, func(all map[string]*convert.K8sEvent) {
		if old := all[n.UID]; old != nil && old.Event == n.Event {
			delete(all, n.UID)
		}
	})
}

// updateK8sEvents changes the events and looks again at the tasks that one is about.
func (p *Store) updateK8sEvents(n *convert.K8sEvent, change func(map[string]*convert.K8sEvent)) {
	p.observe(func(p *Store) []task.Key {
		change(p.k8sEvents)
		var items []*taskItem
		if n.Kind == "PersistentVolumeClaim" {
			items = p.tasksMounting(n.Name)
			if c := p.claims[n.Name]; c != nil && p.volumes[c.VolumeID] != nil {
				p.refreshVolume(p.volumes[c.VolumeID])
			}
		} else {
			for part := range strings.SplitSeq(n.Name, "-") { // names of Jobs and pods hold the task's id
				if item := p.tasks[part]; item != nil {
					items = append(items, item)
				}
			}
		}
		p.refreshReasonsOf(items)
		return nil
	})
}

// tasksMounting returns the tasks that were resolved to a claim.
func (p *Store) tasksMounting(claim string) (items []*taskItem) {
	for id := range p.mounts[claim].tasks {
		if item := p.tasks[id]; item != nil {
			items = append(items, item)
		}
	}
	return items
}

// refreshReasonsOf looks again at why tasks wait. That is for users to see, and nothing
// that the controller acts on: it is not told.
func (p *Store) refreshReasonsOf(items []*taskItem) {
	for _, item := range items {
		if item.record == nil || item.record.Phase().Over() {
			continue
		}
		p.progress(item, p.refresh(item))
	}
}
