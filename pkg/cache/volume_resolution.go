package cache

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// volumeNames returns the names of the volumes of a task, sorted and without duplicates.
func volumeNames(r *task.Record) []string {
	return slices.Compact(slices.Sorted(maps.Values(r.Submit.Task.Volumes)))
}

// resolveAll records in the view of a task which claims the user's volume names resolve to.
func (v *volumes) resolveAll(of *task.View, names []string) {
	if len(names) == 0 {
		return
	}
	of.Resolved, of.Modes = map[string]string{}, map[string][]string{}
	for _, name := range names {
		if claim, modes := v.resolve(of.Submit.User, name); claim != "" {
			of.Resolved[name], of.Modes[name] = claim, modes
		} else {
			of.Missing = append(of.Missing, name)
		}
	}
}

// resolve returns the claim that a name resolves to for user, and the access modes of the claim;
// claim may be "". The user's oldest volume of that name comes first. Otherwise the name is the
// name of a claim, if the policy for claims allows the claim.
func (v *volumes) resolve(user, name string) (claim string, modes []string) {
	if item := v.byName(user, name); item != nil {
		v := item.view
		if v.UID == "" {
			return "", nil // not created yet: the name means this volume, and never a claim of the same name
		}
		return v.ClaimName(), v.Create.Volume.Modes()
	}
	c := v.claims[name]
	if c == nil || !v.policy.Allows(user, c) {
		return "", nil
	}
	return c.Name, c.Modes
}

// byName returns the user's oldest volume of a name or nil.
func (v *volumes) byName(user, name string) *volumeItem {
	for _, item := range v.index.of(user, false).volumes {
		if v := item.view; v.Create.Volume.Name == name && !v.Deleted && !v.Rejected {
			return item
		}
	}
	return nil
}

// await records the names of the volumes that a task waits for, so that a change of these
// volumes refreshes the task.
func (v *volumes) await(i *taskItem, names []string) {
	if len(names) == 0 {
		v.stopAwaiting(i)
		return
	}
	f := i.ensureExtra()
	if f.awaitedVolumes != nil {
		return
	}
	f.awaitedVolumes = names
	for _, name := range names {
		if v.awaiting[name] == nil {
			v.awaiting[name] = map[*taskItem]bool{}
		}
		v.awaiting[name][i] = true
	}
}

func (v *volumes) stopAwaiting(i *taskItem) {
	if i.extra == nil {
		return
	}
	for _, name := range i.extra.awaitedVolumes {
		if delete(v.awaiting[name], i); len(v.awaiting[name]) == 0 {
			delete(v.awaiting, name)
		}
	}
	i.extra.awaitedVolumes = nil
}

// waitingFor returns the tasks that wait for a volume or a claim of this name.
func (v *volumes) waitingFor(name string) []*taskItem {
	return slices.Collect(maps.Keys(v.awaiting[name]))
}

// pendingMounts implements Answers.PendingMounts; the caller holds the lock.
func (v *volumes) pendingMounts(id string) (ids []string) {
	item := v.items[id]
	if item == nil {
		return nil
	}
	r := item.view.VolumeRecord
	waiting := map[*taskItem]bool{}
	if v.byName(r.Create.User, r.Create.Volume.Name) == item {
		maps.Copy(waiting, v.awaiting[r.Create.Volume.Name])
	}
	if v.byName(r.Create.User, r.ClaimName()) == nil {
		maps.Copy(waiting, v.awaiting[r.ClaimName()])
	}
	for i := range waiting {
		if i.record.User() == r.Create.User {
			ids = append(ids, i.id)
		}
	}
	slices.Sort(ids)
	return ids
}
