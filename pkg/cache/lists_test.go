package cache

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/selection"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// A shown is a task as GET /tasks/{id} shows it, with what only lists know.
type shown struct {
	task.Status

	order   uint64
	labels  map[string]string
	gpus    string // of each node: MODEL:COUNT, in upper case
	started time.Time
}

// busyStore returns a store after a random history of three users, and all its tasks, oldest
// first.
func busyStore(t *testing.T, seed uint64) (*testStore, []shown) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, seed))
	p := &testStore{Store: New(), t: t}
	p.SetAdmissionLimits([]task.AdmissionLimits{limits(16, 0, 0), limits(24, 6, 0)}[seed%2])
	var all []task.Command
	for n := range 120 {
		user := []string{"ann", "bob", "cid"}[random.IntN(3)]
		c := submitNodes(user, fmt.Sprintf("t%03d", n), 1+random.IntN(2))
		c.Submit.Task.Name = []string{"", "train", "train-large", "eval"}[random.IntN(4)]
		c.Submit.Group = []string{"", "g", "h"}[n%3]
		c.Submit.Task.Resources.Priority = random.IntN(3)
		if random.IntN(2) == 0 {
			c.Submit.Task.Resources.Labels = map[string]string{"team": []string{"a", "b"}[random.IntN(2)]}
			c.Submit.Task.Annotations = map[string]string{"note": []string{"x, y", ""}[random.IntN(2)], task.AnnotationPoint: "LR=0.1"}
			c.Submit.Task.Resources.Accelerators = []string{"H100:8", "L4", "2"}[random.IntN(3)]
		}
		if random.IntN(10) == 0 {
			c.Submit.Task.Volumes = map[string]string{"/data": "absent"}
		}
		p.apply(c)
		all = append(all, c)
		for range 6 {
			advance(p, random, all[random.IntN(len(all))])
		}
	}
	return p, p.shown(t, all)
}

// advance moves one task a step further.
func advance(p *testStore, random *rand.Rand, c task.Command) {
	s := c.Submit
	v := p.view(s.ID)
	var uids []string
	for rank := range s.Task.Nodes() {
		uids = append(uids, job(c, rank, task.Pending).UID)
	}
	started := v.CreatedAt.Add(time.Duration(len(p.log)%7) * time.Minute)
	switch step := random.IntN(10); {
	case v.Record == nil || v.Phase.Over() || len(v.Missing) > 0:
	case step == 0 && random.IntN(4) == 0:
		p.apply(stop(s.User, s.ID))
	case v.UIDs == nil && step < 3:
		p.apply(admitted(s.ID))
	case v.UIDs == nil && step == 3 && v.Admitted && v.Reason == "":
		p.apply(task.Command{Blocked: &task.Blocked{Key: taskKey(s.ID), Reason: "QuotaExceeded", Message: "full"}})
	case v.UIDs == nil && step == 8 && v.Admitted:
		p.apply(applied(taskKey(s.ID), uids...))
		for rank := range uids {
			p.putJob(job(c, rank, task.Pending))
		}
	case v.UIDs == nil:
	case step < 4 && v.CurrentPhase() == task.Pending:
		x := pod(job(c, 0, task.Pending), 1, task.Pending)
		x.Reason, x.Message = corev1.PodReasonUnschedulable, "0/1 nodes"
		p.putPod(x)
	case step < 7 && v.CurrentPhase() == task.Pending:
		x := pod(job(c, 0, task.Pending), 1, task.Running)
		x.StartedAt, x.Host = started, []string{"n1", "m1", "m2"}[len(p.log)%3]
		p.putPod(x)
	case v.Phase == task.Pending && v.CurrentPhase() == task.Running:
		p.apply(task.Command{Started: &task.Started{ID: s.ID, Nodes: v.NodeList()}})
	case v.Phase == task.Running:
		end := task.Ended{ID: s.ID, Phase: task.Completed, Nodes: v.NodeList()}
		end.Nodes[0].ExitCode = new(0)
		if random.IntN(2) == 0 {
			end.Nodes[0].ExitCode = new(137)
			end.Phase, end.Reason, end.Message = task.Failed, "OOMKilled", "exit code 137"
		}
		p.apply(task.Command{Ended: &end})
	}
}

func (p *testStore) shown(t *testing.T, all []task.Command) (tasks []shown) {
	t.Helper()
	for _, c := range all {
		a, ok := p.TaskAnswer(c.Submit.User, c.Submit.ID, 0)
		if !ok {
			t.Fatalf("no answer for %s", c.Submit.ID)
		}
		s := shown{Status: statusOf(a), order: a.View.Order, labels: c.Submit.Task.Resources.Labels}
		s.gpus = map[string]string{"": ":0", "H100:8": "H100:8", "L4": "L4:1", "2": ":2"}[c.Submit.Task.Resources.Accelerators]
		for _, n := range s.Metadata.Nodes {
			if n.StartedAt != nil && (s.started.IsZero() || n.StartedAt.Before(s.started)) {
				s.started = *n.StartedAt
			}
		}
		tasks = append(tasks, s)
	}
	return tasks
}

// meets returns for each condition of q whether the task meets it.
func (s shown) meets(q query.Tasks) (met []bool) {
	m, name := s.Metadata, strings.ToLower(s.Name)
	node := func(is func(task.Node) bool) bool { return slices.ContainsFunc(m.Nodes, is) }
	has := func(all map[string]string, wanted string) bool {
		key, value, given := strings.Cut(wanted, "=")
		is, ok := all[key]
		return ok && (!given || is == value)
	}
	if len(q.Phases) > 0 {
		met = append(met, slices.Contains(q.Phases, s.Phase))
	}
	if len(q.Reasons) > 0 {
		met = append(met, slices.ContainsFunc(q.Reasons, func(one string) bool { return strings.EqualFold(one, m.Reason) }))
	}
	if q.Group != "" {
		met = append(met, m.Group == q.Group)
	}
	if q.Name != "" {
		met = append(met, s.Name == q.Name)
	}
	if q.NamePrefix != "" {
		met = append(met, strings.HasPrefix(s.Name, q.NamePrefix))
	}
	for _, part := range q.NameContains {
		met = append(met, strings.Contains(name, strings.ToLower(part)))
	}
	for _, label := range q.Labels {
		met = append(met, has(s.labels, label))
	}
	for _, annotation := range q.Annotations {
		met = append(met, has(m.Annotations, annotation))
	}
	for _, variable := range q.Points {
		met = append(met, slices.Contains(strings.Fields(m.Annotations[task.AnnotationPoint]), variable))
	}
	if len(q.Machines) > 0 {
		met = append(met, node(func(n task.Node) bool { return slices.Contains(q.Machines, n.Host) }))
	}
	if len(q.ExitCodes) > 0 {
		met = append(met, node(func(n task.Node) bool { return n.ExitCode != nil && slices.Contains(q.ExitCodes, *n.ExitCode) }))
	}
	if len(q.GPUs) > 0 {
		model, count, _ := strings.Cut(s.gpus, ":")
		met = append(met, slices.ContainsFunc(q.GPUs, func(given string) bool {
			given = strings.ToUpper(given)
			return given == model || given == count || given == s.gpus
		}))
	}
	return met
}

// expected returns the ids of the tasks of a list, computed from what is shown of each task.
func expected(all []shown, l query.List) (ids []string) {
	user, everybody := l.Scope()
	field, descending := l.SortField()
	some := slices.DeleteFunc(slices.Clone(all), func(s shown) bool {
		return !everybody && s.Metadata.User != user ||
			slices.Contains(s.meets(l.Tasks), false) || l.Not != nil && slices.Contains(s.meets(*l.Not), true) ||
			s.CreatedAt.Before(l.From) || !l.Until.IsZero() && !s.CreatedAt.Before(l.Until)
	})
	byTime := func(a, b time.Time, turn int) int {
		if a.IsZero() != b.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.IsZero()]
		}
		return turn * a.Compare(b)
	}
	ended := func(s shown) (at time.Time) {
		if s.Phase.Over() {
			at = s.UpdatedAt
		}
		return at
	}
	turn := map[bool]int{true: -1, false: 1}[descending]
	slices.SortFunc(some, func(a, b shown) int {
		order := 0
		switch field {
		case query.ByCreated:
			order = turn * cmp.Compare(a.order, b.order)
		case query.ByName:
			order = turn * cmp.Compare(a.Name, b.Name)
		case query.ByStatus:
			order = turn * (slices.Index(query.Phases, a.Phase) - slices.Index(query.Phases, b.Phase))
		case query.ByStarted:
			order = byTime(a.started, b.started, turn)
		case query.ByEnded:
			order = byTime(ended(a), ended(b), turn)
		}
		return cmp.Or(order, cmp.Compare(b.order, a.order))
	})
	for _, s := range some {
		ids = append(ids, s.ID)
	}
	return ids
}

// TestListsAgreeWithTheTasks compares every filter and order with what GET /tasks/{id} shows, in
// pages of different sizes and in both views.
func TestListsAgreeWithTheTasks(t *testing.T) {
	found := map[string]bool{}
	for seed := range seeds(4) {
		p, all := busyStore(t, 10+seed)
		compareLists(t, p, all, found)
	}
	for what, some := range found {
		if !some && !testing.Short() && !strings.Contains(what, "None") {
			t.Errorf("no task has %s", what)
		}
	}
}

// compareLists records which lists of phases and reasons had tasks.
func compareLists(t *testing.T, p *testStore, all []shown, found map[string]bool) {
	t.Helper()
	queries := []query.Tasks{
		{},
		{AllUsers: true},
		{User: "bob"},
		{User: "nobody"},
		{Name: "train"},
		{Name: "tra"},
		{NamePrefix: "train"},
		{NameContains: []string{"R", "ra"}, AllUsers: true},
		{Before: "90s", AllUsers: true},
		{Since: "100s", Before: "30s"},
		{GPUs: []string{"H100", "2"}, AllUsers: true},
		{GPUs: []string{"l4:1", "0"}, AllUsers: true},
		{Points: []string{"LR=0.1"}, AllUsers: true},
		{Points: []string{"R=0.1"}, AllUsers: true},
		{Reasons: []string{"BACKLOG", "oomkilled"}, AllUsers: true},
		{Machines: []string{"n1", "m1"}, AllUsers: true},
		{ExitCodes: []int{0}, AllUsers: true},
		{ExitCodes: []int{137, 1}, AllUsers: true},
		{AllUsers: true, Not: &query.Tasks{Machines: []string{"n1"}, Phases: []task.Phase{task.Stopped}}},
		{AllUsers: true, Not: &query.Tasks{Labels: []string{"team=a"}, Group: "g", ExitCodes: []int{0}, GPUs: []string{"2"}, Name: "eval"}},
		{Group: "h", Not: &query.Tasks{NameContains: []string{"LARGE"}, Reasons: []string{"None"}, Annotations: []string{"note="}}},
		{NamePrefix: "task-t0", AllUsers: true},
		{Labels: []string{"team"}, AllUsers: true},
		{Labels: []string{"team=a"}, AllUsers: true},
		{Labels: []string{"team=a", "team=b"}},
		{Labels: []string{"tea"}},
		{Annotations: []string{"note"}, AllUsers: true},
		{Annotations: []string{"note=x, y"}, AllUsers: true},
		{Annotations: []string{"note="}, Labels: []string{"team=a"}},
		{Annotations: []string{"none"}},
		{Group: "g"},
		{Group: "h", AllUsers: true},
		{Group: "none"},
		{Group: "g", User: "bob", Phases: []task.Phase{task.Pending, task.Failed}},
		{Group: "g", Reasons: []string{task.ReasonBacklog, "OOMKilled"}},
		{Group: "h", Name: "train"},
		{Since: "90s", AllUsers: true},
		{Since: "1s"},
		{Since: "2025-10-05T12:01:00Z", Phases: []task.Phase{task.Pending, task.Failed}},
	}
	for _, phase := range query.Phases {
		queries = append(queries, query.Tasks{Phases: []task.Phase{phase}}, query.Tasks{Phases: []task.Phase{phase}, AllUsers: true, NameContains: []string{"a"}})
	}
	for _, reason := range []string{task.ReasonBacklog, task.ReasonMaxJobs, task.ReasonMaxUserJobs, task.ReasonVolume, corev1.PodReasonUnschedulable, "OOMKilled", "QuotaExceeded", "None"} {
		queries = append(queries, query.Tasks{Reasons: []string{reason}}, query.Tasks{Reasons: []string{reason, "OOMKilled"}, AllUsers: true})
	}
	now := noon.Add(time.Duration(p.seq) * time.Second)
	for _, q := range queries {
		for _, field := range append([]string{""}, query.Fields...) {
			for _, sort := range []string{field, "-" + field} {
				if q.Sort = query.Sort(sort); sort == "-" {
					continue
				}
				l, err := q.List("ann", now)
				must.Succeed(t, err)
				want := expected(all, l)
				for _, limit := range []int{0, 1 + len(want)/3, 200} {
					if q.Limit = limit; limit == 1 {
						continue // few pages suffice
					}
					if got := p.pages(t, q, now, len(want)); !slices.Equal(got, want) {
						t.Errorf("%+v:\n got %v\nwant %v", q, got, want)
					}
				}
				p.compareOffsets(t, q, now, want)
				found[fmt.Sprint(q.Phases, q.Reasons)] = found[fmt.Sprint(q.Phases, q.Reasons)] || len(want) > 0
			}
		}
	}
}

// compareOffsets checks pages in the middle of a list, with and without a cursor.
func (p *testStore) compareOffsets(t *testing.T, q query.Tasks, now time.Time, want []string) {
	t.Helper()
	for _, offset := range []int{1, len(want) / 2, len(want) + 1} {
		q.Limit, q.Offset, q.Cursor = 2, offset, ""
		first := min(offset, len(want))
		got, page := p.page(t, q, now)
		if rest := want[first:]; !slices.Equal(got, rest[:min(2, len(rest))]) || page.Total != len(want) {
			t.Errorf("%+v: got %v of %d, want 2 of %v", q, got, page.Total, rest)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			continue
		}
		q.Limit, q.Offset = 0, 1
		if got, _ := p.page(t, q, now); !slices.Equal(got, want[first+3:]) {
			t.Errorf("%+v after a page at %d: got %v, want %v", q, offset, got, want[first+3:])
		}
	}
}

func (p *testStore) page(t *testing.T, q query.Tasks, now time.Time) (ids []string, of query.Page) {
	t.Helper()
	l, err := q.List("ann", now)
	must.Succeed(t, err)
	rows, of := p.TaskRows(l)
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids, of
}

// pages returns the ids on all pages of a list, and checks the total of each page.
func (p *testStore) pages(t *testing.T, q query.Tasks, now time.Time, total int) (ids []string) {
	t.Helper()
	for range 20 {
		l, err := q.List("ann", now)
		must.Succeed(t, err)
		var answers []string
		page := p.TaskAnswers(l, noneEncoded, func(a Answer) { answers = append(answers, a.ID) })
		rows, of := p.TaskRows(l)
		if page != of || page.Total != total || len(rows) != len(answers) || q.Limit > 0 && len(rows) > q.Limit {
			t.Errorf("%+v: %d tasks of %+v, %d rows of %+v, want %d", q, len(answers), page, len(rows), of, total)
		}
		for i, row := range rows {
			if answers[i] != row.ID {
				t.Errorf("%+v: row %d is of %s, the answer of %s", q, i, row.ID, answers[i])
			}
			ids = append(ids, row.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
		now = now.Add(time.Hour) // the meaning of since stays
	}
	t.Errorf("%+v has no end", q)
	return ids
}

func TestRowsAgreeWithTheTasks(t *testing.T) {
	p, all := busyStore(t, 12)
	rows, _ := p.TaskRows(query.List{Tasks: query.Tasks{AllUsers: true, Sort: query.ByCreated}})
	if len(rows) != len(all) {
		t.Fatalf("%d rows, want %d", len(rows), len(all))
	}
	gpus := map[string]bool{}
	for i, s := range all {
		want := overview.Row{
			ID: s.ID, Name: s.Name, User: s.Metadata.User, Group: s.Metadata.Group, Phase: s.Phase, Reason: s.Metadata.Reason,
			Created: s.CreatedAt.Unix(), Started: overview.Seconds(s.started), Nodes: s.Metadata.NumNodes, GPUs: rows[i].GPUs,
			Point: s.Metadata.Annotations[task.AnnotationPoint],
		}
		if s.Phase.Over() {
			want.Ended = s.UpdatedAt.Unix()
		}
		if diff := gocmp.Diff(want, rows[i]); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		gpus[rows[i].GPUs] = true
	}
	if want := []string{"", "2", "H100:8", "L4:1"}; !slices.Equal(slices.Sorted(maps.Keys(gpus)), want) {
		t.Errorf("GPUs %v, want %v", gpus, want)
	}
}

func TestSummariesAgreeWithTheTasks(t *testing.T) {
	for seed := range seeds(5) {
		p, all := busyStore(t, 20+seed)
		for _, user := range []string{"ann", "bob", "nobody", ""} {
			everybody := user == ""
			want := overview.Summary{ByStatus: overview.Counts{}, ByReason: map[string]int{}}
			for _, phase := range query.Phases {
				want.ByStatus[phase] = 0
			}
			if everybody {
				want.ByUser = map[string]overview.Counts{}
			}
			for _, s := range all {
				if !everybody && s.Metadata.User != user {
					continue
				}
				want.Total++
				want.ByStatus[s.Phase]++
				if s.Metadata.Reason != "" {
					want.ByReason[s.Metadata.Reason]++
				}
				if everybody {
					if want.ByUser[s.Metadata.User] == nil {
						want.ByUser[s.Metadata.User] = overview.Counts{}
					}
					want.ByUser[s.Metadata.User][s.Phase]++
				}
				if s.Metadata.Position > 0 {
					want.Backlog.Tasks++
					if o := want.Backlog.Oldest; o == nil || s.CreatedAt.Before(*o) {
						want.Backlog.Oldest = &s.CreatedAt
					}
				}
			}
			got := p.Summary(user, everybody)
			want.Backlog.Rate = got.Backlog.Rate
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d, summary of %q (-want +got):\n%s", seed, user, diff)
			}
		}
		p.Reset()
		if got := p.Summary("", true); got.Total != 0 || len(got.ByUser) != 0 || got.ByStatus[task.Pending] != 0 {
			t.Errorf("after a reset: %+v", got)
		}
		p.replayLog()
		if got := p.Summary("", true); got.Total != len(all) {
			t.Errorf("after a replay: %d tasks, want %d", got.Total, len(all))
		}
	}
}

func TestExpiredTasksAreNotCounted(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), submit("bob", "b"), stop("ann", "a"), gone(taskKey("a")))
	before := p.SummaryVersion("ann", false)
	p.apply(task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"a"}}})
	if got := p.Summary("ann", false); got.Total != 0 || p.SummaryVersion("ann", false) == before {
		t.Errorf("summary of ann: %+v, version %v", got, before)
	}
	if got := p.Summary("", true); got.Total != 1 || len(got.ByUser) != 1 || got.ByUser["bob"][task.Pending] != 1 {
		t.Errorf("summary of all: %+v", got)
	}
}

// A task that changes between the selection and the reading of a page is not shown in a list to
// which it no longer belongs.
func TestAPageShowsNoTaskThatHasLeftTheList(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"), submit("ann", "b"), submit("ann", "c"))
	l := query.List{Caller: "ann", Tasks: query.Tasks{Phases: []task.Phase{task.Pending}}}
	var ids []string
	page := p.eachTask(l, func(items []*taskItem, _ []selection.Task) func() {
		for _, i := range items {
			ids = append(ids, i.id)
		}
		return func() {}
	})
	if page.Total != 3 || !slices.Equal(ids, []string{"c", "b", "a"}) {
		t.Errorf("%v of %+v", ids, page)
	}
	source := taskSource{model: &p.guarded, user: "ann"}
	selected, _ := selection.Select(source, l)
	p.apply(stop("ann", "b"))
	ids = nil
	source.read(selected, selection.NewFilter(l), func(items []*taskItem, _ []selection.Task) func() {
		for _, i := range items {
			ids = append(ids, i.id)
		}
		return nil
	})
	if !slices.Equal(ids, []string{"c", "a"}) {
		t.Errorf("after b was stopped, the page of pending tasks has %v", ids)
	}
}

// Tasks that arrive and leave between two pages move no other task onto two pages or none, if the
// order is by creation or by name.
func TestCursorsAreStable(t *testing.T) {
	for _, sort := range []query.Sort{"", "created", "name", "-name"} {
		p := newTestStore(t)
		for i := range 30 {
			c := submit("ann", fmt.Sprintf("t%02d", i))
			c.Submit.Task.Name = fmt.Sprintf("n%d", i%7)
			p.apply(c)
		}
		q, seen := query.Tasks{Sort: sort, Limit: 4}, map[string]int{}
		for n := range 20 {
			l, err := q.List("ann", noon)
			must.Succeed(t, err)
			rows, page := p.TaskRows(l)
			for _, r := range rows {
				seen[r.ID]++
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
			leaves := fmt.Sprintf("t%02d", 3*n)
			if p.view(leaves).Record != nil { // the last task of a page may leave, too
				p.apply(submit("ann", fmt.Sprintf("new%d", n)), stop("ann", leaves), gone(taskKey(leaves)))
				p.apply(task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{leaves, rows[len(rows)-1].ID}}})
			}
		}
		for i := range 30 {
			if id := fmt.Sprintf("t%02d", i); seen[id] != 1 && (i%3 != 0 || seen[id] > 1) {
				t.Errorf("sort %q: task %s was on %d pages", sort, id, seen[id])
			}
		}
	}
}

// TestListsOfManyTasks pages through more tasks than are selected under one lock.
func TestListsOfManyTasks(t *testing.T) {
	const tasks = 2500
	p := &testStore{Store: New(), t: t}
	for i := range tasks {
		c := submit([]string{"ann", "bob"}[i%2], fmt.Sprintf("t%04d", i))
		c.Submit.Task.Name = fmt.Sprintf("n%04d", i*7919%tasks)
		p.apply(c)
	}
	p.apply(stop("ann", "t0000"), stop("ann", "t1026"), stop("bob", "t2499"))
	for _, q := range []query.Tasks{
		{AllUsers: true},
		{AllUsers: true, Sort: "created"},
		{AllUsers: true, Sort: "name"},
		{AllUsers: true, Sort: "-name"},
		{Sort: "created"},
		{Phases: []task.Phase{task.Stopped}},
		{Phases: []task.Phase{task.Stopped}, AllUsers: true, Sort: "created"},
		{NamePrefix: "n", Sort: "-created"},
	} {
		want := tasks / 2
		switch {
		case len(q.Phases) > 0 && q.AllUsers:
			want = 3
		case len(q.Phases) > 0:
			want = 2
		case q.AllUsers:
			want = tasks
		}
		limits := []int{0, 300, 1024, 2000, 5000}
		if testing.Short() {
			limits = limits[2:3]
		}
		for _, limit := range limits {
			q.Limit = limit
			ids := p.pages(t, q, noon, want)
			compare := strings.Compare // of the order of submission, which is the order of the ids
			if field, _ := (query.List{Tasks: q}).SortField(); field == query.ByName {
				compare = func(a, b string) int { return strings.Compare(p.view(a).Name(), p.view(b).Name()) }
			}
			if q.Sort == "" || strings.HasPrefix(string(q.Sort), "-") {
				slices.Reverse(ids)
			}
			if len(ids) != want || !slices.IsSortedFunc(ids, compare) || len(slices.Compact(slices.Clone(ids))) != want {
				t.Errorf("%+v: %d tasks, want %d in their order", q, len(ids), want)
			}
		}
	}
}

// Other users, who may list the tasks of all users, see no line of the output.
func TestOnlyTheOwnerSeesTheLastLineOfAFailedTask(t *testing.T) {
	p, code := &testStore{Store: New(), t: t}, 3
	p.SetAdmissionLimits(limits(16, 0, 0))
	c := submitNodes("ann", "a", 2)
	p.apply(c)
	p.apply(admitted("a"))
	p.apply(applied(taskKey("a"), job(c, 0, task.Pending).UID, job(c, 1, task.Pending).UID))
	p.apply(task.Command{Ended: &task.Ended{ID: "a", Phase: task.Failed, Reason: "Error", Message: "exit code 3", Nodes: []task.Node{
		{Phase: task.Completed}, {Rank: 1, Phase: task.Failed, ExitCode: &code, Message: "exit code 3\nfirst\nlast " + strings.Repeat("é", overview.LongestLine)},
	}}})
	for caller, want := range map[string]bool{"ann": true, "bob": false} {
		rows, _ := p.TaskRows(query.List{Caller: caller, Tasks: query.Tasks{AllUsers: true}})
		if len(rows) != 1 || rows[0].ExitCode == nil || *rows[0].ExitCode != 3 {
			t.Fatalf("%+v", rows)
		}
		line := rows[0].LastLine
		if strings.HasPrefix(line, "last éé") != want || !want && line != "" || len(line) > overview.LongestLine || !utf8.ValidString(line) {
			t.Errorf("%s sees the line %q", caller, line)
		}
	}
}
