package submit

import (
	"cmp"
	"container/heap"

	"k8s-cli/pkg/task"
)

// A backlog says in which order the controller looks at what has changed. What
// is to be removed comes first. Then, in turns, come what the cluster did and
// the tasks that are to be created: neither keeps the other waiting. Of the
// latter every user has a line, and the lines take turns, so that nobody waits
// for another's thousands. In a line the task of the highest priority is first,
// and of these the one that was accepted first.
//
// It is the storage of a workqueue, which holds a lock of its own around every
// call.
type backlog struct {
	picture Picture
	shared  func() // called when a task comes to be created while another user's wait
	urgent  fifo
	changes fifo
	lines   map[string]*line // of users who wait
	turns   []*line          // the same, the next one first
	queued  map[task.Key]*turn
	most    int  // objects that queued has held
	created bool // the last turn was a line's
}

// roomy is of how many objects on the room is given back once none waits.
const roomy = 1 << 12

// A turn is the place of one object. The place it had before may still be in
// the way: then it is another's.
type turn struct {
	key      task.Key
	of       rank
	priority int
	order    uint64
}

type rank int

const (
	rankChange rank = iota
	rankUrgent
	rankCreate
)

func newBacklog(p Picture, shared func()) *backlog {
	return &backlog{picture: p, shared: shared, lines: map[string]*line{}, queued: map[task.Key]*turn{}}
}

// rank returns what is to be done for an object, and whose it is.
func (b *backlog) rank(k task.Key) (t *turn, user string) {
	t = &turn{key: k}
	if k.Kind == task.KindVolume {
		if v := b.picture.VolumeView(k.ID); v.VolumeRecord != nil && v.Deleted {
			t.of = rankUrgent
		}
		return t, ""
	}
	switch v := b.picture.TaskView(k.ID); {
	case v.Record == nil:
	case v.Phase == task.Stopped:
		t.of = rankUrgent
	case !v.Phase.Over() && v.UIDs == nil:
		t.of, t.priority, t.order = rankCreate, v.Submit.Resources().Priority, v.Order
		return t, v.Submit.User
	}
	return t, ""
}

// Len returns how many objects wait.
func (b *backlog) Len() int { return len(b.queued) }

// Push adds an object that does not wait yet.
func (b *backlog) Push(k task.Key) {
	t, user := b.rank(k)
	b.queued[k] = t
	b.most = max(b.most, len(b.queued))
	switch t.of {
	case rankUrgent:
		b.urgent.push(t)
	case rankChange:
		b.changes.push(t)
	case rankCreate:
		l := b.lines[user]
		if l == nil {
			l = &line{user: user}
			b.lines[user] = l
			b.turns = append(b.turns, l)
		}
		heap.Push(l, t)
		if len(b.lines) > 1 {
			b.shared()
		}
	}
}

// Touch moves an object that waits if something else is to be done for it now.
func (b *backlog) Touch(k task.Key) {
	before := b.queued[k]
	if before == nil || before.of == rankUrgent {
		return
	}
	if t, _ := b.rank(k); t.of != before.of {
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

// create takes the turn of the next line.
func (b *backlog) create() *turn {
	for len(b.turns) > 0 {
		l := b.turns[0]
		b.turns[0] = nil
		b.turns = b.turns[1:]
		t := l.pop(b.waits)
		if l.Len() > 0 {
			b.turns = append(b.turns, l)
		} else {
			delete(b.lines, l.user)
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

// A line is the tasks of one user that are to be created, a heap.
type line struct {
	user  string
	turns []*turn
}

func (l *line) pop(waits func(*turn) bool) *turn {
	for l.Len() > 0 {
		if t, _ := heap.Pop(l).(*turn); waits(t) {
			return t
		}
	}
	return nil
}

// Len, Less, Swap, Push and Pop are for package heap.
func (l *line) Len() int { return len(l.turns) }

func (l *line) Less(i, j int) bool {
	a, b := l.turns[i], l.turns[j]
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order)) < 0
}

func (l *line) Swap(i, j int) { l.turns[i], l.turns[j] = l.turns[j], l.turns[i] }

func (l *line) Push(x any) {
	t, _ := x.(*turn)
	l.turns = append(l.turns, t)
}

func (l *line) Pop() any {
	last := len(l.turns) - 1
	t := l.turns[last]
	l.turns[last] = nil
	l.turns = l.turns[:last]
	return t
}
