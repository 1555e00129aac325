package cache

import (
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A mount is a claim as the tasks see it that were resolved to it.
type mount struct {
	tasks    map[string]bool // ids of those whose Jobs may still be there
	released bool            // its volume was deleted
}

// updateMounts notes the claims of a task for as long as its Jobs may be there.
func (p *Store) updateMounts(t *state.CompactRecord) {
	for _, claim := range t.Claims() {
		m := p.mounts[claim]
		if m.tasks == nil {
			m.tasks = map[string]bool{}
		}
		if t.CleanedUp() {
			delete(m.tasks, t.ID)
		} else {
			m.tasks[t.ID] = true
		}
		p.setMount(claim, m)
	}
}

func (p *Store) setMount(claim string, m mount) {
	if len(m.tasks) == 0 && !m.released {
		delete(p.mounts, claim)
		return
	}
	p.mounts[claim] = m
}

// released reports whether a volume that the task mounts was deleted.
func (p *Store) released(r *task.Record) bool {
	for _, claim := range r.Claims {
		if p.mounts[claim].released {
			return true
		}
	}
	return false
}

// release notes whether the volume of a claim was deleted, and returns the
// tasks that mount it.
func (p *Store) release(claim string, released bool) []task.Key {
	m := p.mounts[claim]
	m.released = released
	p.setMount(claim, m)
	var changed []task.Key
	for id := range m.tasks {
		p.refresh(p.tasks[id])
		changed = append(changed, task.Key{Kind: task.KindTask, ID: id})
	}
	return changed
}
