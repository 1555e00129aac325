package cache

import (
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A mount holds the tasks that are resolved to one claim, and whether the claim was released.
type mount struct {
	tasks    map[string]bool // ids of the tasks whose Jobs may still exist
	released bool            // the volume of the claim was deleted
}

// updateMounts records the claims of a task for as long as its Jobs may exist.
func (v *volumes) updateMounts(t *state.CompactRecord) {
	for _, claim := range t.Claims() {
		m := v.mounts[claim]
		if m.tasks == nil {
			m.tasks = map[string]bool{}
		}
		if t.CleanedUp() {
			delete(m.tasks, t.ID)
		} else {
			m.tasks[t.ID] = true
		}
		v.setMount(claim, m)
	}
}

// setReleased records whether the volume of a claim was deleted.
func (v *volumes) setReleased(claim string, released bool) {
	m := v.mounts[claim]
	m.released = released
	v.setMount(claim, m)
}

func (v *volumes) setMount(claim string, m mount) {
	if len(m.tasks) == 0 && !m.released {
		delete(v.mounts, claim)
		return
	}
	v.mounts[claim] = m
}

// released reports whether a volume that the task mounts was deleted.
func (v *volumes) released(r *task.Record) bool {
	for _, claim := range r.Claims {
		if v.mounts[claim].released {
			return true
		}
	}
	return false
}
