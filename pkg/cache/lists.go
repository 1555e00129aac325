package cache

import (
	"cmp"
	"iter"
	"slices"

	"k8s-cli/pkg/task"
)

// A shelf keeps one user's items, or everyone's, oldest first.
type shelf struct {
	tasks   []*taskItem
	volumes []*volumeItem
	version uint64 // of the picture when a task of it changed last
}

func (p *Picture) shelve(user string, add func(*shelf)) {
	if p.byUser[user] == nil {
		p.byUser[user] = &shelf{}
	}
	add(p.byUser[user])
	add(p.all)
}

// unshelve takes tasks from the shelves, and shelves away that hold nothing more.
func (p *Picture) unshelve(items []*taskItem) {
	of := map[string][]*taskItem{}
	for _, item := range items {
		of[item.kept.User()] = append(of[item.kept.User()], item)
	}
	p.all.tasks = without(p.all.tasks, positions(p.all.tasks, items, byOrder))
	for user, some := range of {
		s := p.byUser[user]
		s.tasks = without(s.tasks, positions(s.tasks, some, byOrder))
		if len(s.tasks) == 0 && len(s.volumes) == 0 {
			delete(p.byUser, user)
		}
	}
}

func byOrder(a, b *taskItem) int { return cmp.Compare(a.kept.Order, b.kept.Order) }

// shelf returns the shelf of user, or everyone's.
func (p *Picture) shelf(user string, allUsers bool) *shelf {
	switch s := p.byUser[user]; {
	case allUsers:
		return p.all
	case s != nil:
		return s
	}
	return &shelf{}
}

// noteChange notes that the answer for a task of user is another one, or gone.
func (p *Picture) noteChange(user string) {
	p.version++
	p.all.version = p.version
	if s := p.byUser[user]; s != nil {
		s.version = p.version
	}
}

// wanted returns the tasks that q asks for, newest first, without regard to its
// limit.
func (p *Picture) wanted(q task.Query) iter.Seq[*taskItem] {
	items := p.shelf(q.User, q.AllUsers).tasks
	if q.Before > 0 {
		n, _ := position(items, q.Before)
		items = items[:n]
	}
	return func(yield func(*taskItem) bool) {
		for _, item := range slices.Backward(items) {
			if item.matches(q) && !yield(item) {
				return
			}
		}
	}
}

// TaskAnswers returns the encoded answers for the tasks that q asks for, newest
// first, and where the next page begins; that is 0 if there is none.
func (p *Picture) TaskAnswers(q task.Query) (bodies [][]byte, next uint64) {
	drafts, next := p.drafts(q)
	bodies = make([][]byte, len(drafts))
	for i, d := range drafts {
		bodies[i] = p.encode(d)
	}
	return bodies, next
}

// drafts returns what these answers are made from.
func (p *Picture) drafts(q task.Query) (drafts []draft, next uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for item := range p.wanted(q) {
		if q.Limit > 0 && len(drafts) == q.Limit {
			return drafts, next
		}
		drafts, next = append(drafts, p.draft(item)), item.kept.Order
	}
	return drafts, 0
}

// TaskVersion returns numbers that are others when the answers to q may be.
func (p *Picture) TaskVersion(q task.Query) [2]uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	version := [2]uint64{p.shelf(q.User, q.AllUsers).version}
	if q.AllUsers && p.backlog.length() > 0 || p.backlog.lengthOf(q.User) > 0 {
		version[1] = p.backlog.turns // by which the places in it are others
	}
	return version
}

// position returns where the task of an order is among items, or would be.
func position(items []*taskItem, order uint64) (i int, found bool) {
	return slices.BinarySearchFunc(items, order, func(i *taskItem, order uint64) int {
		return cmp.Compare(i.kept.Order, order)
	})
}

// Submissions returns which of the entries from first to last are those in which
// tasks were submitted that are still answered for.
func (p *Picture) Submissions(first, last uint64) map[uint64]bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	i, _ := slices.BinarySearchFunc(p.all.tasks, first, func(i *taskItem, first uint64) int {
		return cmp.Compare(i.kept.Seq(), first)
	})
	in := map[uint64]bool{}
	for ; i < len(p.all.tasks) && p.all.tasks[i].kept.Seq() <= last; i++ {
		in[p.all.tasks[i].kept.Seq()] = true
	}
	return in
}

// Submission returns in which entry a task of user was submitted; ok is false if
// there is no such task.
func (p *Picture) Submission(user, id string) (seq uint64, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.tasks[id]
	if item == nil || item.kept == nil || item.kept.User() != user {
		return 0, false
	}
	return item.kept.Seq(), true
}

// VolumeAnswers is TaskAnswers for volumes.
func (p *Picture) VolumeAnswers(q task.Query) (bodies [][]byte, next uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range slices.Backward(p.shelf(q.User, q.AllUsers).volumes) {
		switch v := item.view; {
		case v.Deleted, q.Before > 0 && v.Order >= q.Before,
			q.Name != "" && q.Name != v.Create.Volume.Name, q.Phase != "" && string(q.Phase) != v.Standing():
			continue
		case q.Limit > 0 && len(bodies) == q.Limit:
			return bodies, next
		default:
			bodies, next = append(bodies, item.body), v.Order
		}
	}
	return bodies, 0
}
