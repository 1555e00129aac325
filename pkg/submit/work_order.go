package submit

import (
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
)

// A workOrder defines the order in which the controller reconciles objects. Deletions come
// first. After them, changes of the cluster and creations alternate, so that neither waits for
// all of the other. Creations are only the tasks in the window of admission, in the order of
// the store. Users take turns again here, so that no user waits for tasks that were admitted
// earlier.
//
// A workOrder is the storage of a workqueue, which holds its own lock during every call.
type workOrder struct {
	store           *cache.Store
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

func newWorkOrder(s *cache.Store) *workOrder {
	return &workOrder{store: s, creates: map[string]*userQueue{}, items: map[task.Key]*item{}}
}

// rank returns the kind of work for an object, and the user of a task to create.
func (q *workOrder) rank(k task.Key) (of rank, user string) {
	if k.Kind == task.KindVolume {
		if v := q.store.VolumeView(k.ID); v.VolumeRecord != nil && v.Deleted {
			return rankUrgent, ""
		}
		return rankChange, ""
	}
	switch v := q.store.TaskView(k.ID); {
	case v.Record == nil:
	case v.Phase == task.Stopped:
		return rankUrgent, ""
	case !v.Phase.Over() && v.Admitted && v.UIDs == nil:
		return rankCreate, v.Submit.User
	}
	return rankChange, ""
}

// Len returns the number of queued objects.
func (q *workOrder) Len() int { return len(q.items) }

// Push adds an object that is not queued.
func (q *workOrder) Push(k task.Key) {
	of, user := q.rank(k)
	t := &item{k, of}
	q.items[k] = t
	q.maxQueued = max(q.maxQueued, len(q.items))
	switch of {
	case rankUrgent:
		q.urgent.push(t)
	case rankChange:
		q.changes.push(t)
	case rankCreate:
		if q.creates[user] == nil {
			q.creates[user] = &userQueue{}
			q.users = append(q.users, user)
		}
		q.creates[user].push(t)
	}
}

// Touch moves a queued object if its kind of work has changed.
func (q *workOrder) Touch(k task.Key) {
	before := q.items[k]
	if before == nil || before.rank == rankUrgent {
		return
	}
	if of, _ := q.rank(k); of != before.rank {
		q.Push(k)
	}
}

// Pop removes and returns the next object.
func (q *workOrder) Pop() task.Key {
	t := q.nextItem()
	delete(q.items, t.key)
	if len(q.items) == 0 && q.maxQueued > shrinkAt { // a map never releases memory
		q.items, q.maxQueued = map[task.Key]*item{}, 0
	}
	return t.key
}

func (q *workOrder) nextItem() *item {
	if t := q.urgent.pop(q.isQueued); t != nil {
		return t
	}
	q.lastWasCreation = !q.lastWasCreation
	if q.lastWasCreation {
		if t := q.nextCreation(); t != nil {
			return t
		}
		return q.changes.pop(q.isQueued)
	}
	if t := q.changes.pop(q.isQueued); t != nil {
		return t
	}
	return q.nextCreation()
}

// nextCreation returns the next creation of the user who is next.
func (q *workOrder) nextCreation() *item {
	for len(q.users) > 0 {
		user := q.users[0]
		q.users = q.users[1:]
		t := q.creates[user].pop(q.isQueued)
		if len(*q.creates[user]) > 0 {
			q.users = append(q.users, user)
		} else {
			delete(q.creates, user)
		}
		if t != nil {
			return t
		}
	}
	return nil
}

// isQueued reports whether an item is the present item of its object.
func (q *workOrder) isQueued(t *item) bool { return q.items[t.key] == t }

// A userQueue is a first-in first-out queue.
type userQueue []*item

func (u *userQueue) push(t *item) { *u = append(*u, t) }

func (u *userQueue) pop(isQueued func(*item) bool) *item {
	for len(*u) > 0 {
		t := (*u)[0]
		(*u)[0] = nil
		if *u = (*u)[1:]; isQueued(t) {
			return t
		}
	}
	return nil
}
