package cache

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// resolveVolumes finds the claims of a task that has none resolved yet, for its view, and
// notes which names it waits for: their changes bring it back.
func (p *Store) resolveVolumes(i *taskItem, v *task.View) {
	r := v.Record
	if r.Phase.Over() || r.Claims != nil || len(r.Submit.Task.Volumes) == 0 {
		p.stopWaiting(i)
		return
	}
	f := i.ensureExtra()
	if f.awaitedVolumes == nil {
		f.awaitedVolumes = slices.Compact(slices.Sorted(maps.Values(r.Submit.Task.Volumes)))
		for _, name := range f.awaitedVolumes {
			if p.awaitingVolumes[name] == nil {
				p.awaitingVolumes[name] = map[*taskItem]bool{}
			}
			p.awaitingVolumes[name][i] = true
		}
	}
	p.resolveAll(v, f.awaitedVolumes)
}

// resolveAll notes in the view of a task which claims its user means by these
// names.
func (p *Store) resolveAll(v *task.View, names []string) {
	v.Resolved, v.Modes = map[string]string{}, map[string][]string{}
	for _, name := range names {
		if claim, modes := p.resolve(v.Submit.User, name); claim != "" {
			v.Resolved[name], v.Modes[name] = claim, modes
		} else {
			v.Missing = append(v.Missing, name)
		}
	}
}

// Preview returns a task that nobody submitted as it would be seen: which claims
// are there for its volumes, and which are missing.
func (p *Store) Preview(r *task.Record) task.View {
	p.mu.RLock()
	defer p.mu.RUnlock()
	v := task.View{Record: r}
	p.resolveAll(&v, slices.Compact(slices.Sorted(maps.Values(r.Submit.Task.Volumes))))
	return v
}

func (p *Store) stopWaiting(i *taskItem) {
	if i.extra == nil {
		return
	}
	for _, name := range i.extra.awaitedVolumes {
		if delete(p.awaitingVolumes[name], i); len(p.awaitingVolumes[name]) == 0 {
			delete(p.awaitingVolumes, name)
		}
	}
	i.extra.awaitedVolumes = nil
}

// refreshAwaiting looks again at the tasks that wait for a volume or a claim of
// this name.
func (p *Store) refreshAwaiting(name string) []task.Key {
	var changed []task.Key
	for item := range p.awaitingVolumes[name] {
		p.refresh(item)
		changed = append(changed, task.Key{Kind: task.KindTask, ID: item.id})
	}
	return changed
}

// resolve returns the claim that user means by name and its access modes, or ""
// while there is none:
// the oldest volume of that name that is the user's own, else the claim that is
// literally called so, if the policy for claims allows it.
func (p *Store) resolve(user, name string) (claim string, modes []string) {
	if item := p.volumeByName(user, name); item != nil {
		v := item.view
		if v.UID == "" {
			return "", nil // on its way: it is meant, not a claim of that name
		}
		return v.ClaimName(), v.Create.Volume.Modes()
	}
	c := p.claims[name]
	if c == nil || !p.claimPolicy.Allows(user, c) {
		return "", nil
	}
	return c.Name, c.Modes
}

// volumeByName returns the oldest volume of a name that is the user's own, nil if there is
// none.
func (p *Store) volumeByName(user, name string) *volumeItem {
	for _, item := range p.index(user, false).volumes {
		if v := item.view; v.Create.Volume.Name == name && !v.Deleted && !v.Rejected {
			return item
		}
	}
	return nil
}

// PendingMounts returns the ids of the tasks that mean a volume, by its name or by that
// of its claim, and that will mount it: the log does not say so yet.
func (p *Store) PendingMounts(volume string) (ids []string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.volumes[volume]
	if item == nil {
		return nil
	}
	r := item.view.VolumeRecord
	waiting := map[*taskItem]bool{}
	if p.volumeByName(r.Create.User, r.Create.Volume.Name) == item {
		maps.Copy(waiting, p.awaitingVolumes[r.Create.Volume.Name])
	}
	if p.volumeByName(r.Create.User, r.ClaimName()) == nil {
		maps.Copy(waiting, p.awaitingVolumes[r.ClaimName()])
	}
	for i := range waiting {
		if i.record.User() == r.Create.User {
			ids = append(ids, i.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// A namedVolume is a volume as its task names it, and the claim that it is.
type namedVolume struct{ name, claim string }

// volumesOf returns the volumes of a task that was resolved, by name.
func volumesOf(r *task.Record) (all []namedVolume) {
	for _, name := range slices.Sorted(maps.Keys(r.Claims)) {
		all = append(all, namedVolume{name, r.Claims[name]})
	}
	return all
}
