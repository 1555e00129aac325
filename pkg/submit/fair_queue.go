package submit

import "k8s-cli/pkg/task"

// A fairQueue says in which order the controller looks at what has changed. What
// is to be removed comes first. Then, in turns, come what the cluster did and the
// tasks that are to be created: neither keeps the other waiting. Of the latter
// there are only as many as are admitted at once, in the order that the store
// has; here their users take turns once more, so that nobody waits for what was
// admitted before he came.
//
// It is the storage of a workqueue, which holds a lock of its own around every
// call.
type fairQueue struct {
	objects         Objects
	urgent          userQueue
	changes         userQueue
	creates         map[string]*userQueue // by user
	users           []string              // who have some of these, the next one first
	items           map[task.Key]*item
	maxQueued       int  // objects that queued has held
	lastWasCreation bool // the last turn was a creation's
}

// shrinkAt is of how many objects on the room is given back once none waits.
const shrinkAt = 1 << 12

// An item is the place of one object. The place it had before may still be in
// the way: then it is another's.
type item struct {
	key  task.Key
	rank rank
}

type rank int

const (
	rankChange rank = iota
	rankUrgent
	rankCreate
)

func newFairQueue(o Objects) *fairQueue {
	return &fairQueue{objects: o, creates: map[string]*userQueue{}, items: map[task.Key]*item{}}
}

// rank returns what is to be done for an object, and whose it is if it is to be
// created.
func (b *fairQueue) rank(k task.Key) (of rank, user string) {
	if k.Kind == task.KindVolume {
		if v := b.objects.VolumeView(k.ID); v.VolumeRecord != nil && v.Deleted {
			return rankUrgent, ""
		}
		return rankChange, ""
	}
	switch v := b.objects.TaskView(k.ID); {
	case v.Record == nil:
	case v.Phase == task.Stopped:
		return rankUrgent, ""
	case !v.Phase.Over() && v.Admitted && v.UIDs == nil:
		return rankCreate, v.Submit.User
	}
	return rankChange, ""
}

// Len returns how many objects wait.
func (b *fairQueue) Len() int { return len(b.items) }

// Push adds an object that does not wait yet.
func (b *fairQueue) Push(k task.Key) {
	of, user := b.rank(k)
	t := &item{k, of}
	b.items[k] = t
	b.maxQueued = max(b.maxQueued, len(b.items))
	switch of {
	case rankUrgent:
		b.urgent.push(t)
	case rankChange:
		b.changes.push(t)
	case rankCreate:
		if b.creates[user] == nil {
			b.creates[user] = &userQueue{}
			b.users = append(b.users, user)
		}
		b.creates[user].push(t)
	}
}

// Touch moves an object that waits if something else is to be done for it now.
func (b *fairQueue) Touch(k task.Key) {
	before := b.items[k]
	if before == nil || before.rank == rankUrgent {
		return
	}
	if of, _ := b.rank(k); of != before.rank {
		b.Push(k)
	}
}

// Pop removes the object that is next, of those that wait.
func (b *fairQueue) Pop() task.Key {
	t := b.nextItem()
	delete(b.items, t.key)
	if len(b.items) == 0 && b.maxQueued > shrinkAt { // a map keeps the room that it had at its largest
		b.items, b.maxQueued = map[task.Key]*item{}, 0
	}
	return t.key
}

func (b *fairQueue) nextItem() *item {
	if t := b.urgent.pop(b.isQueued); t != nil {
		return t
	}
	b.lastWasCreation = !b.lastWasCreation
	if b.lastWasCreation {
		if t := b.nextCreation(); t != nil {
			return t
		}
		return b.changes.pop(b.isQueued)
	}
	if t := b.changes.pop(b.isQueued); t != nil {
		return t
	}
	return b.nextCreation()
}

// nextCreation takes the turn of the next user.
func (b *fairQueue) nextCreation() *item {
	for len(b.users) > 0 {
		user := b.users[0]
		b.users = b.users[1:]
		t := b.creates[user].pop(b.isQueued)
		if len(*b.creates[user]) > 0 {
			b.users = append(b.users, user)
		} else {
			delete(b.creates, user)
		}
		if t != nil {
			return t
		}
	}
	return nil
}

// isQueued reports whether a turn is still its object's.
func (b *fairQueue) isQueued(t *item) bool { return b.items[t.key] == t }

// A userQueue gives out what was pushed first.
type userQueue []*item

func (f *userQueue) push(t *item) { *f = append(*f, t) }

func (f *userQueue) pop(isQueued func(*item) bool) *item {
	for len(*f) > 0 {
		t := (*f)[0]
		(*f)[0] = nil
		if *f = (*f)[1:]; isQueued(t) {
			return t
		}
	}
	return nil
}
