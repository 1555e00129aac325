package submit

import "k8s-cli/pkg/task"

// A fairQueue defines the order in which the controller reconciles objects. Deletions come
// first. After them, changes of the cluster and creations alternate, so that neither waits for
// all of the other. Creations are only the tasks in the window of admission, in the order of
// the store. Users take turns again here, so that nobody waits for tasks that were admitted
// earlier.
//
// A fairQueue is the storage of a workqueue, which holds its own lock during every call.
type fairQueue struct {
	objects         Objects
	urgent          userQueue
	changes         userQueue
	creates         map[string]*userQueue // creations by user
	users           []string              // users with creations, the next user first
	items           map[task.Key]*item
	maxQueued       int  // largest number of objects that items has held
	lastWasCreation bool // the last object was a creation
}

// shrinkAt is the number of objects above which the memory of items is released once the queue
// is empty.
const shrinkAt = 1 << 12

// An item is the queued entry of one object. An object that was moved leaves its former item
// in another userQueue; isQueued identifies such an item.
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

// rank returns the kind of work for an object, and the user of a task to create.
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

// Len returns the number of queued objects.
func (b *fairQueue) Len() int { return len(b.items) }

// Push adds an object that is not queued.
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

// Touch moves a queued object if its kind of work has changed.
func (b *fairQueue) Touch(k task.Key) {
	before := b.items[k]
	if before == nil || before.rank == rankUrgent {
		return
	}
	if of, _ := b.rank(k); of != before.rank {
		b.Push(k)
	}
}

// Pop removes and returns the next object.
func (b *fairQueue) Pop() task.Key {
	t := b.nextItem()
	delete(b.items, t.key)
	if len(b.items) == 0 && b.maxQueued > shrinkAt { // a map never releases memory
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

// nextCreation returns the next creation of the user who is next.
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

// isQueued reports whether an item is the present item of its object.
func (b *fairQueue) isQueued(t *item) bool { return b.items[t.key] == t }

// A userQueue is a first-in first-out queue.
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
