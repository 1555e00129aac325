package logs

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// OnArchived makes the keeper call told when Archived may have become true of a
// task of which it was false. It is to be called before Run; told does not block.
func (k *Keeper) OnArchived(told func(task.Key)) { k.told = told }

// Archived reports whether deleting the Jobs of a task that is over loses no
// part of its logs: each is stored, cannot be, or goes with a Job that is being
// deleted already. It is false until Run has learned which logs are stored.
func (k *Keeper) Archived(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept != nil && k.isArchived(id) {
		delete(k.awaited, id)
		return true
	}
	if k.awaited == nil {
		k.awaited = map[string]bool{}
	}
	k.awaited[id] = true
	return false
}

// isArchived is called with the lock held.
func (k *Keeper) isArchived(id string) bool {
	v := k.scene.TaskView(id)
	if v.Record == nil {
		return true
	}
	for rank, pod := range v.Pods {
		job := v.Jobs[rank]
		if pod == nil || !pod.Readable || job == nil || job.Deleting {
			continue
		}
		if k.kept[keptName(id, rank)] != pod.UID {
			return false
		}
	}
	return true
}

func (k *Keeper) tellArchived(ids []string) {
	if k.told == nil {
		return
	}
	for _, id := range ids {
		k.told(task.Key{Kind: task.KindTask, ID: id})
	}
}

func (k *Keeper) isAwaited(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.awaited[id]
}

// takeAwaited empties the set of tasks of which Archived was false.
func (k *Keeper) takeAwaited() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := slices.Collect(maps.Keys(k.awaited))
	k.awaited = nil
	return ids
}

// pruneAwaited forgets the tasks whose Jobs are gone: nobody asks again.
func (k *Keeper) pruneAwaited() {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.awaited, func(id string, _ bool) bool {
		v := k.scene.TaskView(id)
		return v.Record == nil || v.CleanedUp
	})
}
