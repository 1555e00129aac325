package cache

import (
	"k8s-cli/pkg/cache/explain"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
)

// volumes holds the volumes of the log and the claims of the cluster, and the tasks that wait
// for or mount them.
type volumes struct {
	policy   policy.Claims
	index    *index
	items    map[string]*volumeItem
	claims   map[string]*task.Claim        // by name
	orphans  map[string]string             // names of the orphaned claims, by the id of the volume
	awaiting map[string]map[*taskItem]bool // tasks with unresolved volumes, by the name of the volume
	mounts   map[string]mount              // by the name of the claim
}

// A volumeItem is one volume of the store.
type volumeItem struct {
	view task.VolumeView
}

func newVolumes(x *index) *volumes {
	return &volumes{
		index: x, items: map[string]*volumeItem{}, claims: map[string]*task.Claim{}, orphans: map[string]string{},
		awaiting: map[string]map[*taskItem]bool{}, mounts: map[string]mount{},
	}
}

// apply updates a volume from its record in the state. The record of a cleaned-up volume stays
// for the history, and for claims that appear late.
func (v *volumes) apply(record *task.VolumeRecord) *volumeItem {
	item := v.items[record.Create.ID]
	known := item != nil
	if !known {
		item = &volumeItem{}
		delete(v.orphans, record.Create.ID)
		v.items[record.Create.ID] = item
	}
	item.view.VolumeRecord = record
	switch {
	case record.CleanedUp:
		v.index.removeVolume(record.Create.User, item)
	case !known:
		v.index.addVolume(record.Create.User, item)
	}
	return item
}

// join joins a volume with its claim.
func (v *volumes) join(i *volumeItem, events explain.Events) {
	r := i.view.VolumeRecord
	i.view.Claim, i.view.Note = nil, task.Note{}
	if c := v.claims[r.ClaimName()]; c != nil && c.User == r.Create.User && c.Hash == r.Hash {
		i.view.Claim, i.view.Seen = c, true
		if c.Phase == task.VolumePending {
			i.view.Note = events.Note(c.UID)
		}
	}
}

// view returns the view of a volume; for an orphan, the view holds only the claim.
func (v *volumes) view(id string) task.VolumeView {
	if v.items[id] == nil {
		return task.VolumeView{Claim: v.claims[v.orphans[id]]}
	}
	return v.items[id].view
}

// keys returns the keys of the volumes that may need work; see Views.Keys.
func (v *volumes) keys() (keys []task.Key) {
	for id, item := range v.items {
		if item.view.CleanedUp && item.view.Claim == nil {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	for id := range v.orphans {
		keys = append(keys, task.Key{Kind: task.KindVolume, ID: id})
	}
	return keys
}

// setClaim records a claim of the cluster; nil means that the claim was deleted.
func (v *volumes) setClaim(name string, c *task.Claim) {
	if c == nil {
		delete(v.claims, name)
	} else {
		v.claims[name] = c
	}
}

// ofClaim returns the volume that the labels of a claim name or nil.
func (v *volumes) ofClaim(name string) *volumeItem {
	if c := v.claims[name]; c != nil {
		return v.items[c.VolumeID]
	}
	return nil
}

// updateOrphan updates whether a claim is an orphan, and reports whether it is one. c is nil
// for a deleted claim.
func (v *volumes) updateOrphan(name, id string, c *task.Claim) bool {
	if v.items[id] != nil {
		return false
	}
	if v.orphans[id] == name {
		delete(v.orphans, id)
	}
	if c == nil || !c.Ours || c.VolumeID == "" {
		return false
	}
	v.orphans[c.VolumeID] = c.Name
	return true
}
