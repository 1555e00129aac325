package cache

import (
	"slices"

	"k8s-cli/pkg/task"
)

// A volumeItem is one volume of the picture.
type volumeItem struct {
	view task.VolumeView
	body []byte
}

// foldedVolume brings a volume to what the state says of it, and returns the
// tasks that this concerns.
func (p *Picture) foldedVolume(id string) []task.Key {
	record, item := p.state.Volumes[id], p.volumes[id]
	switch {
	case record == nil:
		return nil
	case item == nil:
		item = &volumeItem{}
		delete(p.strays, id)
		p.volumes[id] = item
		if !record.Gone {
			p.shelve(record.Create.User, func(s *shelf) { s.volumes = append(s.volumes, item) })
		}
	}
	item.view.VolumeRecord = record
	if record.Gone {
		return p.volumeGone(item)
	}
	p.refreshVolume(item)
	changed := p.refreshWaiting(record.Create.Volume.Name)
	if record.Deleted {
		changed = append(changed, p.release(record.ClaimName(), true)...)
	}
	return changed
}

// volumeGone takes a volume out of sight. Its record stays for the history, and
// for claims that come late.
func (p *Picture) volumeGone(item *volumeItem) []task.Key {
	p.refreshVolume(item)
	drop := func(s *shelf) {
		s.volumes = slices.DeleteFunc(s.volumes, func(i *volumeItem) bool { return i == item })
	}
	if s := p.byUser[item.view.Create.User]; s != nil {
		drop(s)
	}
	drop(p.all)
	return append(p.release(item.view.ClaimName(), false), p.refreshWaiting(item.view.Create.Volume.Name)...)
}

// refreshVolume joins a volume with its claim and encodes the result.
func (p *Picture) refreshVolume(i *volumeItem) {
	r := i.view.VolumeRecord
	i.view.Claim, i.view.Note = nil, task.Note{}
	if c := p.claims[r.ClaimName()]; c != nil && c.User == r.Create.User && c.Hash == r.Hash {
		i.view.Claim, i.view.Seen = c, true
		if c.Phase == task.VolumePending {
			i.view.Note = p.noticeAbout(c.UID)
		}
	}
	i.body = p.render.Volume(i.view)
}

func (p *Picture) putClaim(c *task.Claim)    { p.changeClaim(c.Name, c.VolumeID, c) }
func (p *Picture) dropClaim(name, id string) { p.changeClaim(name, id, nil) }

// changeClaim notes what the cluster shows of a claim; nil means that it is gone.
func (p *Picture) changeClaim(name, id string, c *task.Claim) {
	p.observe(func(p *Picture) []task.Key {
		if c == nil {
			delete(p.claims, name)
		} else {
			p.claims[name] = c
		}
		changed := p.refreshWaiting(name)
		p.explainAll(p.mounting(name))
		if item := p.volumes[id]; item != nil {
			p.refreshVolume(item)
			changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
		} else if p.strays[id] == name {
			delete(p.strays, id)
		}
		if c != nil && p.noteStray(c) {
			changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
		}
		return changed
	})
}

// noteStray notes a claim of ours that has no record, and reports whether it is
// one.
func (p *Picture) noteStray(c *task.Claim) bool {
	if !c.Ours || c.VolumeID == "" || p.volumes[c.VolumeID] != nil {
		return false
	}
	p.strays[c.VolumeID] = c.Name
	return true
}
