package cache

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// volumeNames returns the names that a task gives its volumes.
func volumeNames(r *task.Record) []string {
	return slices.Compact(slices.Sorted(maps.Values(r.Submit.Task.Volumes)))
}

// resolveAll notes in the view of a task which claims its user means by these
// names.
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

// resolve returns the claim that user means by name and its access modes, or ""
// while there is none:
// the oldest volume of that name that is the user's own, else the claim that is
// literally called so, if the policy for claims allows it.
func (v *volumes) resolve(user, name string) (claim string, modes []string) {
	if item := v.byName(user, name); item != nil {
		v := item.view
		if v.UID == "" {
			return "", nil // on its way: it is meant, not a claim of that name
		}
		return v.ClaimName(), v.Create.Volume.Modes()
	}
	c := v.claims[name]
	if c == nil || !v.policy.Allows(user, c) {
		return "", nil
	}
	return c.Name, c.Modes
}

// byName returns the oldest volume of a name that is the user's own, nil if there is
// none.
func (v *volumes) byName(user, name string) *volumeItem {
	for _, item := range v.index.of(user, false).volumes {
		if v := item.view; v.Create.Volume.Name == name && !v.Deleted && !v.Rejected {
			return item
		}
	}
	return nil
}

// await notes the names of the volumes that a task waits for: their changes bring it
// back.
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

// pendingMounts: see Answers.PendingMounts.
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
