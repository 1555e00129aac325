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
	case record == nil && item != nil: // gone
		delete(p.volumes, id)
		drop := func(s *shelf) {
			s.volumes = slices.DeleteFunc(s.volumes, func(i *volumeItem) bool { return i == item })
		}
		drop(p.byUser[item.view.Create.User])
		drop(&p.all)
		return p.release(item.view.ClaimName(), false)
	case record == nil:
		return nil
	case item == nil:
		item = &volumeItem{}
		delete(p.strays, id)
		p.volumes[id] = item
		p.shelve(record.Create.User, func(s *shelf) { s.volumes = append(s.volumes, item) })
	}
	item.view.VolumeRecord = record
	p.refreshVolume(item)
	if record.Deleted {
		return p.release(record.ClaimName(), true)
	}
	return nil
}

// refreshVolume joins a volume with its claim and encodes the result.
func (p *Picture) refreshVolume(i *volumeItem) {
	r := i.view.VolumeRecord
	i.view.Claim = nil
	if c := p.claims[r.ClaimName()]; c != nil && c.User == r.Create.User && c.Hash == r.Hash {
		i.view.Claim, i.view.Seen = c, true
	}
	i.body = p.render.Volume(i.view)
}

func (p *Picture) putClaim(c *task.Claim)    { p.changeClaim(c.Name, c.VolumeID, c) }
func (p *Picture) dropClaim(name, id string) { p.changeClaim(name, id, nil) }

// changeClaim notes what the cluster shows of a claim; nil means that it is gone.
func (p *Picture) changeClaim(name, id string, c *task.Claim) {
	p.mu.Lock()
	if c == nil {
		delete(p.claims, name)
	} else {
		p.claims[name] = c
	}
	changed := p.refreshWaiting()
	if item := p.volumes[id]; item != nil {
		p.refreshVolume(item)
		changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
	} else if p.strays[id] == name {
		delete(p.strays, id)
	}
	if c != nil && p.noteStray(c) {
		changed = append(changed, task.Key{Kind: task.KindVolume, ID: id})
	}
	p.mu.Unlock()
	p.tell(changed)
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

// wait finds the claims of a task that has none resolved yet.
func (p *Picture) wait(i *taskItem) {
	r := i.view.Record
	if r.Phase.Over() || r.Claims != nil || len(r.Submit.Task.Volumes) == 0 {
		delete(p.waiting, i.id)
		return
	}
	p.waiting[i.id] = true
	i.view.Resolved = map[string]string{}
	for _, name := range r.Submit.Task.Volumes {
		if claim := p.resolve(r.Submit.User, name); claim != "" {
			i.view.Resolved[name] = claim
		} else if !slices.Contains(i.view.Missing, name) {
			i.view.Missing = append(i.view.Missing, name)
		}
	}
	slices.Sort(i.view.Missing)
}

// resolve returns the claim that user means by name, or "" while there is none:
// the oldest volume of that name that is the user's own, else the claim that is
// literally called so, if it is not another user's volume.
func (p *Picture) resolve(user, name string) string {
	for _, item := range p.shelf(user, false).volumes {
		switch v := item.view; {
		case v.Create.Volume.Name != name || v.Deleted || v.Refused:
			continue
		case v.UID == "":
			return "" // on its way: it is meant, not a younger one or a claim of that name
		default:
			return v.ClaimName()
		}
	}
	c := p.claims[name]
	if c == nil || c.Deleting || c.Ours && c.User != user {
		return ""
	}
	return c.Name
}

// refreshWaiting looks again at the tasks that wait for a volume.
func (p *Picture) refreshWaiting() []task.Key {
	var changed []task.Key
	for id := range p.waiting {
		p.refresh(p.tasks[id])
		changed = append(changed, task.Key{Kind: task.KindTask, ID: id})
	}
	return changed
}
