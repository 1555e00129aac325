package selection

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

var beginning = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// A fakeSource holds tasks in the order of submission.
type fakeSource struct {
	tasks   []*Task
	visited int
	change  func() // runs after each chunk
}

func (s *fakeSource) Scan(from uint64, reverse bool, n int, visit func(*Task) bool) (last uint64, more bool) {
	if s.change != nil {
		defer s.change()
	}
	all := slices.Clone(s.tasks)
	if reverse {
		slices.Reverse(all)
	}
	for _, t := range all {
		if from != 0 && (reverse && t.Order >= from || !reverse && t.Order <= from) {
			continue
		}
		if n--; n < 0 {
			return last, true
		}
		s.visited++
		if last = t.Order; !visit(t) {
			return last, false
		}
	}
	return last, false
}

func (s *fakeSource) Count(match func(task.Phase, string) bool) (n int) {
	for _, t := range s.tasks {
		if match(t.Phase, t.Reason) {
			n++
		}
	}
	return n
}

// someTasks returns tasks with equal names, times and phases, folded from a log.
func someTasks(t *testing.T, r *rand.Rand, n int) *fakeSource {
	t.Helper()
	s := state.New()
	entry := task.Entry{Version: task.EntryVersion, Log: "log", Writer: "w", Time: beginning}
	fold := func(commands ...task.Command) {
		entry.Seq, entry.Number, entry.Commands = entry.Seq+1, entry.Number+1, nil
		entry.Time = entry.Time.Add(time.Duration(r.IntN(3)) * time.Minute)
		for _, c := range commands {
			raw, err := c.Encode()
			must.Succeed(t, err)
			entry.Commands = append(entry.Commands, raw)
		}
		s.Fold(entry)
	}
	for i := range n {
		id := fmt.Sprintf("id%06d", i)
		spec := task.Spec{Name: fmt.Sprintf("train-%d", r.IntN(20)), Run: "true"}
		if r.IntN(2) == 0 {
			spec.Resources.Labels = map[string]string{"team": fmt.Sprint("t", r.IntN(3))}
			spec.Resources.Accelerators = []string{"", "H100:8", "A100"}[r.IntN(3)]
		}
		commands := []task.Command{{Submit: &task.Submit{ID: id, User: "ann", Task: spec}}}
		if phase := query.Phases[r.IntN(len(query.Phases))]; phase == task.Completed || phase == task.Failed {
			started := beginning.Add(time.Duration(r.IntN(100)) * time.Minute)
			ended := task.Ended{ID: id, Phase: phase, Nodes: []task.Node{{Phase: phase, StartedAt: &started, Host: fmt.Sprint("m", r.IntN(5)), ExitCode: new(0)}}}
			if phase == task.Failed {
				ended.Nodes[0].ExitCode = new(1)
				ended.Reason = []string{"Error", "OOMKilled"}[r.IntN(2)]
			}
			commands = append(commands, task.Command{Applied: &task.Applied{Key: task.Key{Kind: task.KindTask, ID: id}, UIDs: []string{id}}}, task.Command{Ended: &ended})
		}
		fold(commands...)
	}
	source := &fakeSource{}
	for _, c := range s.Tasks {
		source.tasks = append(source.tasks, &Task{CompactRecord: c, Phase: c.Phase(), Reason: c.Reason()})
	}
	slices.SortFunc(source.tasks, func(a, b *Task) int { return cmp.Compare(a.Order, b.Order) })
	return source
}

// allOf returns the ids of all pages of a list.
func allOf(t *testing.T, s *fakeSource, q query.Tasks) (ids []string) {
	t.Helper()
	total := -1
	for {
		l, err := q.List("ann", beginning.Add(24*time.Hour))
		must.Succeed(t, err)
		items, page := Select(s, l)
		if q.Limit > 0 && len(items) > q.Limit {
			t.Fatalf("a page of %d tasks, limit %d", len(items), q.Limit)
		}
		for _, i := range items {
			ids = append(ids, i.ID)
		}
		if total >= 0 && page.Total != total {
			t.Fatalf("a total of %d after a total of %d", page.Total, total)
		}
		total, q.Cursor = page.Total, page.Next
		if page.Next == "" {
			break
		}
	}
	if len(ids) != total {
		t.Errorf("%d tasks on all pages, a total of %d", len(ids), total)
	}
	return ids
}

// naive selects tasks without chunks, pages and counts.
func naive(s *fakeSource, less func(a, b *Task) int, keep func(*Task) bool) (ids []string) {
	var all []*Task
	for _, t := range slices.Backward(s.tasks) { // newest first
		if keep(t) {
			all = append(all, t)
		}
	}
	if less != nil {
		slices.SortStableFunc(all, less)
	}
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

// orders are the orders of lists, and comparisons of tasks that give these orders.
var orders = map[query.Sort]func(a, b *Task) int{
	"":         nil,
	"-created": nil,
	"created":  func(a, b *Task) int { return cmp.Compare(a.Order, b.Order) },
	"name":     func(a, b *Task) int { return strings.Compare(a.Name(), b.Name()) },
	"-name":    func(a, b *Task) int { return strings.Compare(b.Name(), a.Name()) },
	"status":   func(a, b *Task) int { return slices.Index(query.Phases, a.Phase) - slices.Index(query.Phases, b.Phase) },
	"-status":  func(a, b *Task) int { return slices.Index(query.Phases, b.Phase) - slices.Index(query.Phases, a.Phase) },
	"started":  func(a, b *Task) int { return compareTimes(a.StartTime(), b.StartTime(), 1) },
	"-started": func(a, b *Task) int { return compareTimes(a.StartTime(), b.StartTime(), -1) },
	"ended":    func(a, b *Task) int { return compareTimes(a.Ended(), b.Ended(), 1) },
	"-ended":   func(a, b *Task) int { return compareTimes(a.Ended(), b.Ended(), -1) },
}

// compareTimes puts the zero time last.
func compareTimes(a, b time.Time, direction int) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(btoi(a.IsZero()), btoi(b.IsZero()))
	}
	return direction * a.Compare(b)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hostOf returns the machine of the first node in the log, "" without nodes.
func hostOf(t *Task) string {
	_, n := t.Node(0)
	return n.Host
}

// filters are filters of lists, and functions that select the same tasks.
var filters = map[string]struct {
	set  query.Tasks
	keep func(*Task) bool
}{
	"all":           {query.Tasks{}, func(*Task) bool { return true }},
	"status":        {query.Tasks{Phases: []task.Phase{task.Failed, task.Completed}}, func(t *Task) bool { return t.Phase == task.Failed || t.Phase == task.Completed }},
	"reason":        {query.Tasks{Reasons: []string{"OOMKilled"}}, func(t *Task) bool { return t.Reason == "OOMKilled" }},
	"name":          {query.Tasks{Name: "train-7"}, func(t *Task) bool { return t.Name() == "train-7" }},
	"name prefix":   {query.Tasks{NamePrefix: "train-1"}, func(t *Task) bool { return strings.HasPrefix(t.Name(), "train-1") }},
	"name contains": {query.Tasks{NameContains: []string{"N-1", "rai"}}, func(t *Task) bool { return strings.Contains(t.Name(), "n-1") }},
	"any reason":    {query.Tasks{Reasons: []string{"oomkilled", "ERROR"}}, func(t *Task) bool { return t.Phase == task.Failed }},
	"before":        {query.Tasks{Before: "2026-01-02T13:00:00Z"}, func(t *Task) bool { return t.CreatedAt.Before(beginning.Add(10 * time.Hour)) }},
	"gpus":          {query.Tasks{GPUs: []string{"h100"}}, func(t *Task) bool { return t.Accelerators() == "H100:8" }},
	"machine":       {query.Tasks{Machines: []string{"m1", "m2"}}, func(t *Task) bool { return slices.Contains([]string{"m1", "m2"}, hostOf(t)) }},
	"exit":          {query.Tasks{ExitCodes: []int{0}}, func(t *Task) bool { return t.Phase == task.Completed }},
	"not":           {query.Tasks{Not: &query.Tasks{Phases: []task.Phase{task.Failed}, Reasons: []string{"none"}}}, func(t *Task) bool { return t.Phase != task.Failed }},
	"not labels":    {query.Tasks{Not: &query.Tasks{Labels: []string{"team=t1", "team=t2"}}}, func(t *Task) bool { return t.Labels().Map()["team"] != "t1" && t.Labels().Map()["team"] != "t2" }},
	"not machine":   {query.Tasks{Not: &query.Tasks{Machines: []string{"m1"}, ExitCodes: []int{1}}}, func(t *Task) bool { return t.Phase != task.Failed && hostOf(t) != "m1" }},
	"label":         {query.Tasks{Labels: []string{"team=t1"}}, func(t *Task) bool { return t.Labels().Map()["team"] == "t1" }},
	"label key":     {query.Tasks{Labels: []string{"team"}}, func(t *Task) bool { return t.Labels().Map()["team"] != "" }},
	"since":         {query.Tasks{Since: "2026-01-02T13:00:00Z"}, func(t *Task) bool { return !t.CreatedAt.Before(beginning.Add(10 * time.Hour)) }},
	"several": {query.Tasks{Phases: []task.Phase{task.Failed}, Labels: []string{"team"}, NamePrefix: "train"}, func(t *Task) bool {
		return t.Phase == task.Failed && t.Labels().Map()["team"] != ""
	}},
	"none": {query.Tasks{Name: "nothing"}, func(*Task) bool { return false }},
}

// TestPagesTogetherAreTheList checks that the pages of a list contain the tasks that a naive
// selection returns, in the same order, for every order and every filter.
func TestPagesTogetherAreTheList(t *testing.T) {
	s := someTasks(t, rand.New(rand.NewPCG(1, 2)), chunk+100)
	for order, less := range orders {
		for name, f := range filters {
			want := naive(s, less, f.keep)
			for _, limit := range []int{0, 500} {
				q := f.set
				q.Sort, q.Limit = order, limit
				if got := allOf(t, s, q); !slices.Equal(got, want) {
					t.Errorf("order %q, filter %s, limit %d: %d tasks, want %d; first difference at %d", order, name, limit, len(got), len(want), difference(got, want))
				}
			}
		}
	}
}

func difference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestFirstPageVisitsFewTasks checks that the usual request does not visit all tasks.
func TestFirstPageVisitsFewTasks(t *testing.T) {
	s := someTasks(t, rand.New(rand.NewPCG(3, 4)), 2*chunk)
	for name, tt := range map[string]struct {
		q    query.Tasks
		most int
	}{
		"all":    {query.Tasks{}, 51},
		"status": {query.Tasks{Phases: []task.Phase{task.Completed, task.Failed}}, 300},
		"none":   {query.Tasks{Phases: []task.Phase{task.Running}}, 0},
	} {
		tt.q.Limit, s.visited = 50, 0
		l, err := tt.q.List("ann", beginning)
		must.Succeed(t, err)
		if Select(s, l); s.visited > tt.most {
			t.Errorf("%s: %d tasks were visited, want at most %d", name, s.visited, tt.most)
		}
	}
}

// TestSelectionWhileTasksChange checks that a task that is in the source all the time is
// selected exactly once, while other tasks are removed and added between two chunks.
func TestSelectionWhileTasksChange(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, order := range []query.Sort{"", "created", "name", "-ended"} {
		s := someTasks(t, r, 3*chunk)
		later := s.tasks[2*chunk+500:]
		s.tasks = s.tasks[:2*chunk+500]
		stays := map[string]bool{}
		for i, task := range s.tasks {
			if i%10 != 0 {
				stays[task.ID] = true
			}
		}
		s.change = func() {
			s.tasks = slices.DeleteFunc(slices.Clone(s.tasks), func(t *Task) bool { return !stays[t.ID] })
			s.tasks, later = append(s.tasks, later...), nil
		}
		l, err := query.Tasks{Sort: order, NamePrefix: "train"}.List("ann", beginning)
		must.Succeed(t, err)
		items, _ := Select(s, l)
		times := map[string]int{}
		for _, i := range items {
			times[i.ID]++
		}
		for id := range stays {
			if times[id] != 1 {
				t.Fatalf("order %q: task %s was selected %d times", order, id, times[id])
			}
		}
	}
}

func TestCountsOfClasses(t *testing.T) {
	var c Counts
	waiting, failed, oom := WaitingClass(), NewClass(task.Failed, "Error"), NewClass(task.Failed, "OOMKilled")
	for range 3 {
		c.Move(Class{}, waiting)
	}
	c.Move(waiting, failed)
	c.Move(waiting, oom)
	if c.OfPhase(task.Failed) != 2 || c.OfPhase(task.Pending) != 1 || len(c) != 3 {
		t.Errorf("%v", c)
	}
	c.Move(oom, Class{})
	if _, has := c[oom]; has || c.OfPhase(task.Failed) != 1 {
		t.Errorf("%v", c)
	}
	if reason, waits := failed.Reason(); reason != "Error" || waits || failed.Phase() != task.Failed {
		t.Errorf("%q %t", reason, waits)
	}
	if reason, waits := waiting.Reason(); reason != "" || !waits {
		t.Errorf("%q %t", reason, waits)
	}
}
