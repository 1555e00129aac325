package cache

import (
	"cmp"
	"slices"

	"k8s-cli/pkg/cache/groups"
	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/cache/sorted"
)

// An index holds the tasks and volumes of each user and of all users, oldest first, and counts
// their changes.
type index struct {
	byUser  map[string]*userIndex
	all     *userIndex
	groups  *groups.Index[*taskItem]
	version uint64 // number of changes of tasks
}

// A userIndex holds the items of one user, or of all users.
type userIndex struct {
	tasks   []*taskItem
	volumes []*volumeItem
	counts  selection.Counts
	version uint64 // version of the index at the last change of a task in this userIndex
}

func newIndex() *index {
	return &index{byUser: map[string]*userIndex{}, all: &userIndex{}, groups: groups.New[*taskItem]()}
}

func (x *index) addTask(user string, item *taskItem) {
	x.groups.Add(item)
	x.add(user, func(u *userIndex) { u.tasks = append(u.tasks, item) })
}

func (x *index) addVolume(user string, item *volumeItem) {
	x.add(user, func(u *userIndex) { u.volumes = append(u.volumes, item) })
}

func (x *index) add(user string, add func(*userIndex)) {
	if x.byUser[user] == nil {
		x.byUser[user] = &userIndex{}
	}
	add(x.byUser[user])
	add(x.all)
}

// removeTasks removes tasks, and the indexes of users without further items.
func (x *index) removeTasks(items []*taskItem) {
	x.groups.Remove(items)
	of := map[string][]*taskItem{}
	for _, item := range items {
		of[item.record.User()] = append(of[item.record.User()], item)
	}
	x.all.tasks = sorted.Remove(x.all.tasks, items, byOrder)
	for user, some := range of {
		u := x.byUser[user]
		u.tasks = sorted.Remove(u.tasks, some, byOrder)
		if len(u.tasks) == 0 && len(u.volumes) == 0 {
			delete(x.byUser, user)
		}
	}
}

func byOrder(a, b *taskItem) int { return cmp.Compare(a.record.Order, b.record.Order) }

func (x *index) removeVolume(user string, item *volumeItem) {
	drop := func(u *userIndex) {
		u.volumes = slices.DeleteFunc(u.volumes, func(i *volumeItem) bool { return i == item })
	}
	if u := x.byUser[user]; u != nil {
		drop(u)
	}
	drop(x.all)
}

// of returns the index of user, or of all users.
func (x *index) of(user string, allUsers bool) *userIndex {
	switch u := x.byUser[user]; {
	case allUsers:
		return x.all
	case u != nil:
		return u
	}
	return &userIndex{}
}

// tasks returns the tasks of user, of all users, or of one group of user, with their counts. name
// is the name of the group, or empty.
func (x *index) tasks(user string, allUsers bool, name string) ([]*taskItem, selection.Counts) {
	if name == "" || allUsers {
		u := x.of(user, allUsers)
		return u.tasks, u.counts
	}
	if g := x.groups.Of(user, name); g != nil {
		return g.Tasks, g.Counts
	}
	return nil, nil
}

// bump records that the answer for a task of user has changed or no longer exists, and returns
// the new version.
func (x *index) bump(user string) uint64 {
	x.version++
	x.all.version = x.version
	if u := x.byUser[user]; u != nil {
		u.version = x.version
	}
	return x.version
}

// position returns the index at which the task of an order is, or would be inserted.
func position(items []*taskItem, order uint64) (i int, found bool) {
	return slices.BinarySearchFunc(items, order, func(i *taskItem, order uint64) int {
		return cmp.Compare(i.record.Order, order)
	})
}

// submissions returns the entries from first to last in which tasks of the index were
// submitted.
func (x *index) submissions(first, last uint64) map[uint64]bool {
	tasks := x.all.tasks
	i, _ := slices.BinarySearchFunc(tasks, first, func(i *taskItem, first uint64) int {
		return cmp.Compare(i.record.Seq(), first)
	})
	in := map[uint64]bool{}
	for ; i < len(tasks) && tasks[i].record.Seq() <= last; i++ {
		in[tasks[i].record.Seq()] = true
	}
	return in
}
