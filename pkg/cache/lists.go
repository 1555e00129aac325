package cache

import (
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// TaskAnswers calls visit with the answer for each task on a page of a list. The store is not locked
// during the calls.
func (a Answers) TaskAnswers(l query.List, have Encoded, visit func(Answer)) query.Page {
	return a.eachTask(l, func(items []*taskItem, _ []selection.Task) func() {
		answers := make([]Answer, len(items))
		for n, item := range items {
			d := a.answer(item)
			if d.Position == 0 {
				d.Encoded = have(d.ID, d.Version)
			}
			if d.Encoded == nil {
				d.View = new(item.view())
			}
			answers[n] = d
		}
		return func() {
			for _, d := range answers {
				visit(d)
			}
		}
	})
}

// TaskRows returns the tasks on a page of a list as rows.
func (a Answers) TaskRows(l query.List) (rows []overview.Row, p query.Page) {
	p = a.eachTask(l, func(_ []*taskItem, tasks []selection.Task) func() {
		for n := range tasks {
			rows = append(rows, rowOf(&tasks[n], l.Caller))
		}
		return func() {}
	})
	return rows, p
}

// TaskVersion returns numbers that change whenever the page of a list may change.
func (a Answers) TaskVersion(l query.List) [2]uint64 { return a.version(l.Scope()) }

func (a Answers) version(user string, all bool) [2]uint64 {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	version := [2]uint64{a.model.index.of(user, all).version}
	if b := a.model.admission.queue; all && b.length() > 0 || b.lengthOfUser(user) > 0 {
		version[1] = b.revision // the positions in the backlog depend on the revision
	}
	return version
}

// eachTask calls read with the tasks on a page, in parts, in their order. read holds the lock of
// the store; the function that read returns does not.
func (a Answers) eachTask(l query.List, read func([]*taskItem, []selection.Task) func()) query.Page {
	const part = 512 // tasks that are read under one lock
	user, all := l.Scope()
	source := taskSource{a.model, user, all, l.Group}
	selected, page := selection.Select(source, l)
	filter := selection.NewFilter(l)
	for some := range slices.Chunk(selected, part) {
		source.read(some, filter, read)()
	}
	return page
}

// read calls read with those of the selected tasks that are still in the list.
func (s taskSource) read(selected []selection.Item, f *selection.Filter, read func([]*taskItem, []selection.Task) func()) func() {
	items, tasks := make([]*taskItem, 0, len(selected)), make([]selection.Task, 0, len(selected))
	s.model.mu.RLock()
	defer s.model.mu.RUnlock()
	reasons := backlogReasons{admission: s.model.admission}
	for _, one := range selected {
		item := s.model.tasks[one.ID]
		if item == nil || item.record == nil || item.record.Order != one.Order {
			continue
		}
		if t := item.listed(&reasons); f.Matches(&t) {
			items, tasks = append(items, item), append(tasks, t)
		}
	}
	return read(items, tasks)
}

// A taskSource is the tasks of one user, of one group of the user, or of all users.
type taskSource struct {
	model *guarded
	user  string
	all   bool
	group string // empty for the tasks of all groups
}

// Scan implements selection.Source.
func (s taskSource) Scan(from uint64, reverse bool, n int, visit func(*selection.Task) bool) (last uint64, more bool) {
	s.model.mu.RLock()
	defer s.model.mu.RUnlock()
	items, _ := s.model.index.tasks(s.user, s.all, s.group)
	begin, end := 0, len(items)
	switch {
	case reverse && from > 0:
		end, _ = position(items, from)
	case from > 0:
		begin, _ = position(items, from+1)
	}
	more = end-begin > n
	if reverse {
		begin = max(begin, end-n)
	} else {
		end = min(end, begin+n)
	}
	reasons, some := backlogReasons{admission: s.model.admission}, items[begin:end]
	var t selection.Task // one for all, because visit does not keep it
	for k := range some {
		if reverse {
			k = len(some) - 1 - k
		}
		last = some[k].record.Order
		if t = some[k].listed(&reasons); !visit(&t) {
			return last, false
		}
	}
	return last, more
}

// Count implements selection.Source.
func (s taskSource) Count(match func(task.Phase, string) bool) (tasks int) {
	s.model.mu.RLock()
	defer s.model.mu.RUnlock()
	s.model.eachCount(s.user, s.all, s.group, func(p task.Phase, reason string, n int) {
		if match(p, reason) {
			tasks += n
		}
	})
	return tasks
}

// eachCount calls visit with the number of tasks of each phase and reason. visit may be called
// several times with the same phase and reason. The tasks are those of index.tasks.
func (m *model) eachCount(user string, all bool, group string, visit func(task.Phase, string, int)) {
	reasons := backlogReasons{admission: m.admission}
	_, counts := m.index.tasks(user, all, group)
	for class, n := range counts {
		switch reason, waiting := class.Reason(); {
		case !waiting:
			visit(class.Phase(), reason, n)
		case !all:
			visit(class.Phase(), reasons.of(user), n)
		default:
			for user := range m.admission.queue.userQueues {
				if n := m.index.of(user, false).counts[class]; n > 0 {
					visit(class.Phase(), reasons.of(user), n)
				}
			}
		}
	}
}

// backlogReasons derives the reasons of tasks that wait for admission, once for each user.
type backlogReasons struct {
	admission *admission
	byUser    map[string]string
}

func (r *backlogReasons) of(user string) string {
	why, known := r.byUser[user]
	if !known {
		if r.byUser == nil {
			r.byUser = map[string]string{}
		}
		why = r.admission.waitingReason(user)
		r.byUser[user] = why
	}
	return why
}

// listed returns the task of an item as lists show it.
func (i *taskItem) listed(reasons *backlogReasons) selection.Task {
	t := selection.Task{CompactRecord: i.record, Phase: i.class.Phase(), Nodes: i}
	waiting := false
	if t.Reason, waiting = i.class.Reason(); waiting {
		t.Reason = reasons.of(i.record.User())
	}
	if t.Phase != task.Pending && len(i.pods) > 0 && i.record.Started().IsZero() { // the log does not say so yet
		t.Runs = i.runningSince()
	}
	return t
}

// runningSince returns when the first pod of the task began to run.
func (i *taskItem) runningSince() (first time.Time) {
	for _, pod := range i.pods {
		if at := pod.StartedAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// rowOf returns the row of a task for a caller. Only the owner sees a line of the output.
func rowOf(t *selection.Task, caller string) overview.Row {
	row := overview.Row{
		ID: t.ID, Name: t.Name(), User: t.User(), Group: t.Group(), Phase: t.Phase, Reason: t.Reason,
		Created: overview.Seconds(t.CreatedAt), Started: overview.Seconds(t.StartTime()), Ended: overview.Seconds(t.Ended()),
		Nodes: t.NumNodes(), GPUs: overview.GPUText(t.Accelerators()), Restarts: t.Restarts(),
		Point: t.Annotations()[task.AnnotationPoint],
	}
	if t.Phase == task.Failed {
		row.ExitCode, row.LastLine = failureOf(t.Record())
		if t.User() != caller {
			row.LastLine = ""
		}
	}
	return row
}

// failureOf returns the exit code of the first node that failed with one, and the last line of its output.
func failureOf(r *task.Record) (code *int, lastLine string) {
	i := slices.IndexFunc(r.Nodes, func(n task.Node) bool { return n.Phase == task.Failed && n.ExitCode != nil })
	if i < 0 {
		return nil, ""
	}
	lines := strings.Split(r.Nodes[i].Split().LastLines, "\n")
	lastLine = lines[len(lines)-1]
	if len(lastLine) > overview.LongestLine {
		lastLine = strings.ToValidUTF8(lastLine[:overview.LongestLine], "")
	}
	return r.Nodes[i].ExitCode, lastLine
}
