package cache

import (
	"slices"

	"k8s-cli/pkg/task"
)

// A volumeItem is one volume of the store.
type volumeItem struct {
	view task.VolumeView
	body []byte
}

// applyVolume brings a volume to what the state says of it, and returns the
// tasks that this concerns.
func (p *Store) applyVolume(id string) []task.Key {
	record, item := p.state.Volumes[id], p.volumes[id]
	switch {
	case record == nil:
		return nil
	case item == nil:
		item = &volumeItem{}
		delete(p.orphans, id)
		p.volumes[id] = item
		if !record.CleanedUp {
			p.addToIndex(record.Create.User, func(s *userIndex) { s.volumes = append(s.volumes, item) })
		}
	}
	item.view.VolumeRecord = record
	if record.CleanedUp {
		return p.volumeGone(item)
	}
	p.refreshVolume(item)
	changed := p.refreshAwaiting(record.Create.Volume.Name)
	if record.Deleted {
		changed = append(changed, p.release(record.ClaimName(), true)...)
	}
	return changed
}

// volumeGone takes a volume out of sight. Its record stays for the history, and
// for claims that come late.
func (p *Store) volumeGone(item *volumeItem) []task.Key {
	p.refreshVolume(item)
	drop := func(s *userIndex) {
		s.volumes = slices.DeleteFunc(s.volumes, func(i *volumeItem) bool { return i == item })
	}
	if s := p.byUser[item.view.Create.User]; s != nil {
		drop(s)
	}
	drop(p.all)
	return append(p.release(item.view.ClaimName(), false), p.refreshAwaiting(item.view.Create.Volume.Name)...)
}

// refreshVolume joins a volume with its claim and encodes the result.
func (p *Store) refreshVolume(i *volumeItem) {
	r := i.view.VolumeRecord
	i.view.Claim, i.view.Note = nil, task.Note{}
	if c := p.claims[r.ClaimName()]; c != nil && c.User == r.Create.User && c.Hash == r.Hash {
		i.view.Claim, i.view.Seen = c, true
		if c.Phase == task.VolumePending {
			i.view.Note = p.reasonOfK8sEvent(c.UID)
		}
	}
	i.body = p.render.Volume(i.view)
}

func (p *Store) putClaim(c *task.Claim)    { p.changeClaim(c.Name, c.VolumeID, c) }
func (p *Store) dropClaim(name, id string) { p.changeClaim(name, id, nil) }

// changeClaim notes what the cluster shows of a claim; nil means that it is gone.
func (p *Store) changeClaim(name, id string, c *task.Claim) {
	p.observe(func(p *Store) []task.Key {
		if c == nil {
			delete(p.claims, name)
		} else {
			p.claims[name] = c
		}
		changed := p.refreshAwaiting(name)
		p.refreshReasonsOf(p.tasksMounting(name))
		if item := p.volumes[id]; item != nil {
			p.refreshVolume(item)
			changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
		} else if p.orphans[id] == name {
			delete(p.orphans, id)
		}
		if c != nil && p.updateOrphan(c) {
			changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
		}
		return changed
	})
}

// updateOrphan notes a claim of ours that has no record, and reports whether it is
// one.
func (p *Store) updateOrphan(c *task.Claim) bool {
	if !c.Ours || c.VolumeID == "" || p.volumes[c.VolumeID] != nil {
		return false
	}
	p.orphans[c.VolumeID] = c.Name
	return true
}
