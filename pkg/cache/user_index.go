package cache

import (
	"cmp"
	"iter"
	"slices"

	"k8s-cli/pkg/task"
)

// A userIndex keeps one user's items, or everyone's, oldest first.
type userIndex struct {
	tasks   []*taskItem
	volumes []*volumeItem
	version uint64 // of the store when a task of it changed last
}

func (p *Store) addToIndex(user string, add func(*userIndex)) {
	if p.byUser[user] == nil {
		p.byUser[user] = &userIndex{}
	}
	add(p.byUser[user])
	add(p.all)
}

// removeFromIndexes takes tasks out of the indexes, and indexes away that hold nothing more.
func (p *Store) removeFromIndexes(items []*taskItem) {
	of := map[string][]*taskItem{}
	for _, item := range items {
		of[item.record.User()] = append(of[item.record.User()], item)
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

func byOrder(a, b *taskItem) int { return cmp.Compare(a.record.Order, b.record.Order) }

// index returns the index of user, or everyone's.
func (p *Store) index(user string, allUsers bool) *userIndex {
	switch s := p.byUser[user]; {
	case allUsers:
		return p.all
	case s != nil:
		return s
	}
	return &userIndex{}
}

// bumpVersion notes that the answer for a task of user is another one, or gone.
func (p *Store) bumpVersion(user string) {
	p.version++
	p.all.version = p.version
	if s := p.byUser[user]; s != nil {
		s.version = p.version
	}
}

// matching returns the tasks that q asks for, newest first, without regard to its
// limit.
func (p *Store) matching(q task.Query) iter.Seq[*taskItem] {
	items := p.index(q.User, q.AllUsers).tasks
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
func (p *Store) TaskAnswers(q task.Query) (bodies [][]byte, next uint64) {
	inputs, next := p.renderInputs(q)
	bodies = make([][]byte, len(inputs))
	for i, d := range inputs {
		bodies[i] = p.encode(d)
	}
	return bodies, next
}

// renderInputs returns what these answers are made from.
func (p *Store) renderInputs(q task.Query) (inputs []renderInput, next uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for item := range p.matching(q) {
		if q.Limit > 0 && len(inputs) == q.Limit {
			return inputs, next
		}
		inputs, next = append(inputs, p.renderInput(item)), item.record.Order
	}
	return inputs, 0
}

// TaskVersion returns numbers that are others when the answers to q may be.
func (p *Store) TaskVersion(q task.Query) [2]uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	version := [2]uint64{p.index(q.User, q.AllUsers).version}
	if q.AllUsers && p.backlog.length() > 0 || p.backlog.lengthOfUser(q.User) > 0 {
		version[1] = p.backlog.revision // by which the places in it are others
	}
	return version
}

// position returns where the task of an order is among items, or would be.
func position(items []*taskItem, order uint64) (i int, found bool) {
	return slices.BinarySearchFunc(items, order, func(i *taskItem, order uint64) int {
		return cmp.Compare(i.record.Order, order)
	})
}

// Submissions returns which of the entries from first to last are those in which
// tasks were submitted that are still answered for.
func (p *Store) Submissions(first, last uint64) map[uint64]bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	i, _ := slices.BinarySearchFunc(p.all.tasks, first, func(i *taskItem, first uint64) int {
		return cmp.Compare(i.record.Seq(), first)
	})
	in := map[uint64]bool{}
	for ; i < len(p.all.tasks) && p.all.tasks[i].record.Seq() <= last; i++ {
		in[p.all.tasks[i].record.Seq()] = true
	}
	return in
}

// Submission returns in which entry a task of user was submitted; ok is false if
// there is no such task.
func (p *Store) Submission(user, id string) (seq uint64, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	item := p.tasks[id]
	if item == nil || item.record == nil || item.record.User() != user {
		return 0, false
	}
	return item.record.Seq(), true
}

// VolumeAnswers is TaskAnswers for volumes.
func (p *Store) VolumeAnswers(q task.Query) (bodies [][]byte, next uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range slices.Backward(p.index(q.User, q.AllUsers).volumes) {
		switch v := item.view; {
		case v.Deleted, q.Before > 0 && v.Order >= q.Before,
			q.Name != "" && q.Name != v.Create.Volume.Name, q.Phase != "" && string(q.Phase) != v.CurrentPhase():
			continue
		case q.Limit > 0 && len(bodies) == q.Limit:
			return bodies, next
		default:
			bodies, next = append(bodies, item.body), v.Order
		}
	}
	return bodies, 0
}
