package cache

import (
	"slices"

	"k8s-cli/pkg/cache/sorted"
	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// finished holds the tasks that completed or failed and whose Jobs are retained, in the order
// in which they ended. The Jobs of finished tasks are evicted early if other tasks wait for
// places.
type finished struct {
	tasks  []*state.CompactRecord
	jobs   int            // Jobs of all tasks
	byUser map[string]int // Jobs by user; users without Jobs are absent
}

func isFinished(t *state.CompactRecord) bool {
	return t != nil && t.Applied() && !t.CleanedUp() && (t.Phase() == task.Completed || t.Phase() == task.Failed)
}

// update adds or removes a task when its record changes from before to now.
func (f *finished) update(before, now *state.CompactRecord) {
	switch was, is := isFinished(before), isFinished(now); {
	case is && !was:
		at, _ := slices.BinarySearchFunc(f.tasks, now, tasksByEnd)
		f.tasks = slices.Insert(f.tasks, at, now)
		f.add(now, 1)
	case was && !is:
		if at, found := slices.BinarySearchFunc(f.tasks, before, tasksByEnd); found {
			f.tasks = sorted.DeleteAt(f.tasks, at)
			f.add(before, -1)
		}
	}
}

func (f *finished) add(t *state.CompactRecord, times int) {
	if f.byUser == nil {
		f.byUser = map[string]int{}
	}
	jobs, user := times*t.NumNodes(), t.User()
	f.jobs += jobs
	if f.byUser[user] += jobs; f.byUser[user] == 0 {
		delete(f.byUser, user)
	}
}
