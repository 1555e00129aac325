package submit

import "k8s-cli/pkg/task"

// A backlog says in which order the controller looks at what has changed. What
// is to be removed comes first. Then, in turns, come what the cluster did and the
// tasks that are to be created: neither keeps the other waiting. Of the latter
// there are only as many as are admitted at once, in the order that the store
// has; here their users take turns once more, so that nobody waits for what was
// admitted before he came.
//
// It is the storage of a workqueue, which holds a lock of its own around every
// call.
type backlog struct {
	projection Projection
	urgent     fifo
	changes    fifo
	creates    map[string]*fifo // by user
	users      []string         // who have some of these, the next one first
	queued     map[task.Key]*turn
	most       int  // objects that queued has held
	created    bool // the last turn was a creation's
}

// roomy is of how many objects on the room is given back once none waits.
const roomy = 1 << 12

// A turn is the place of one object. The place it had before may still be in
// the way: then it is another's.
type turn struct {
	key task.Key
	of  rank
}

type rank int

const (
	rankChange rank = iota
	rankUrgent
	rankCreate
)

func newBacklog(p Projection) *backlog {
	return &backlog{projection: p, creates: map[string]*fifo{}, queued: map[task.Key]*turn{}}
}

// rank returns what is to be done for an object, and whose it is if it is to be
// created.
func (b *backlog) rank(k task.Key) (of rank, user string) {
	if k.Kind == task.KindVolume {
		if v := b.projection.VolumeView(k.ID); v.VolumeRecord != nil && v.Deleted {
			return rankUrgent, ""
		}
		return rankChange, ""
	}
	switch v := b.projection.TaskView(k.ID); {
	case v.Record == nil:
	case v.Phase == task.Stopped:
		return rankUrgent, ""
	case !v.Phase.Over() && v.Admitted && v.UIDs == nil:
		return rankCreate, v.Submit.User
	}
	return rankChange, ""
}

// Len returns how many objects wait.
func (b *backlog) Len() int { return len(b.queued) }

// Push adds an object that does not wait yet.
func (b *backlog) Push(k task.Key) {
	of, user := b.rank(k)
	t := &turn{k, of}
	b.queued[k] = t
	b.most = max(b.most, len(b.queued))
	switch of {
	case rankUrgent:
		b.urgent.push(t)
	case rankChange:
		b.changes.push(t)
	case rankCreate:
		if b.creates[user] == nil {
			b.creates[user] = &fifo{}
			b.users = append(b.users, user)
		}
		b.creates[user].push(t)
	}
}

// Touch moves an object that waits if something else is to be done for it now.
func (b *backlog) Touch(k task.Key) {
	before := b.queued[k]
	if before == nil || before.of == rankUrgent {
		return
	}
	if of, _ := b.rank(k); of != before.of {
		b.Push(k)
	}
}

// Pop removes the object that is next, of those that wait.
func (b *backlog) Pop() task.Key {
	t := b.next()
	delete(b.queued, t.key)
	if len(b.queued) == 0 && b.most > roomy { // a map keeps the room that it had at its largest
		b.queued, b.most = map[task.Key]*turn{}, 0
	}
	return t.key
}

func (b *backlog) next() *turn {
	if t := b.urgent.pop(b.waits); t != nil {
		return t
	}
	b.created = !b.created
	if b.created {
		if t := b.create(); t != nil {
			return t
		}
		return b.changes.pop(b.waits)
	}
	if t := b.changes.pop(b.waits); t != nil {
		return t
	}
	return b.create()
}

// create takes the turn of the next user.
func (b *backlog) create() *turn {
	for len(b.users) > 0 {
		user := b.users[0]
		b.users = b.users[1:]
		t := b.creates[user].pop(b.waits)
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

// waits reports whether a turn is still its object's.
func (b *backlog) waits(t *turn) bool { return b.queued[t.key] == t }

// A fifo gives out what was pushed first.
type fifo []*turn

func (f *fifo) push(t *turn) { *f = append(*f, t) }

func (f *fifo) pop(waits func(*turn) bool) *turn {
	for len(*f) > 0 {
		t := (*f)[0]
		(*f)[0] = nil
		if *f = (*f)[1:]; waits(t) {
			return t
		}
	}
	return nil
}
