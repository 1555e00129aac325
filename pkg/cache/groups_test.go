package cache

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// expectedGroup returns the state of a group, computed from the views of all its tasks.
func (p *testStore) expectedGroup(user, name string) (g group.Group, order uint64) {
	g = group.Group{Name: name, User: user, ByStatus: overview.Counts{}}
	for _, phase := range query.Phases {
		g.ByStatus[phase] = 0
	}
	var tasks []task.View
	for id := range p.tasks {
		if v := p.view(id); v.Record != nil && v.Submit.User == user && v.Submit.Group == name {
			tasks = append(tasks, v)
		}
	}
	if len(tasks) == 0 {
		return group.Group{}, 0
	}
	slices.SortFunc(tasks, func(a, b task.View) int { return cmp.Compare(a.Order, b.Order) })
	g.SubmittedAt, order = tasks[0].CreatedAt, tasks[0].Order
	for _, v := range tasks {
		g.Total++
		g.ByStatus[v.CurrentPhase()]++
		for _, n := range v.NodeList() {
			if n.StartedAt != nil && (g.StartedAt == nil || n.StartedAt.Before(*g.StartedAt)) {
				g.StartedAt = n.StartedAt
			}
		}
	}
	g.Progress = float64(1000*g.Over()/g.Total) / 1000
	g.Phase = group.Status(g.ByStatus)
	slices.SortFunc(tasks, func(a, b task.View) int {
		return cmp.Or(cmp.Compare(a.EndSeq, b.EndSeq), cmp.Compare(a.Order, b.Order))
	})
	if g.Over() == g.Total {
		g.EndedAt = &tasks[len(tasks)-1].UpdatedAt
	}
	if i := slices.IndexFunc(tasks, func(v task.View) bool { return v.Phase == task.Failed }); i >= 0 {
		v := tasks[i]
		g.First = &group.Failure{ID: v.Submit.ID, Name: v.Name(), Reason: v.Reason, Message: v.Message, EndedAt: v.UpdatedAt, Point: v.Submit.Task.Annotations[task.AnnotationPoint]}
	}
	return g, order
}

// checkGroups compares the index with the tasks.
func (p *testStore) checkGroups(what string) {
	p.t.Helper()
	for _, user := range []string{"ann", "bob", "cid"} {
		var want []string
		orders := map[string]uint64{}
		for _, name := range []string{"g", "h"} {
			wanted, order := p.expectedGroup(user, name)
			got, ok := p.Group(user, name)
			got.EstimatedAt = nil // has a test of its own
			if diff := gocmp.Diff(wanted, got); diff != "" || ok != (order > 0) {
				p.t.Fatalf("%s: group %s of %s, known: %v (-want +got):\n%s", what, name, user, ok, diff)
			}
			if order > 0 {
				want = append(want, name)
				orders[name] = order
			}
		}
		slices.SortFunc(want, func(a, b string) int { return cmp.Compare(orders[b], orders[a]) })
		var names []string
		for cursor, first := uint64(0), true; first || cursor > 0; first = false {
			var page []group.Group
			page, cursor = p.Groups(task.Query{User: user, Limit: 1, Before: cursor})
			for _, g := range page {
				names = append(names, g.Name)
			}
		}
		if !slices.Equal(names, want) {
			p.t.Fatalf("%s: groups of %s in pages: %v, want %v", what, user, names, want)
		}
	}
}

// The counts of the groups are those of their tasks, after each change, after the tasks expire in
// any order, and after the state is read from a snapshot.
func TestGroupsAgreeWithTheirTasks(t *testing.T) {
	for seed := range seeds(3) {
		p, all := busyStore(t, 30+seed)
		p.checkGroups("after the history")
		_, text := p.snapshot()
		must.Succeed(t, p.Restore(strings.NewReader(text)))
		p.checkGroups("after a snapshot")
		for n := range all {
			id := all[(n*7)%len(all)].ID
			if v := p.view(id); !v.Phase.Over() {
				p.apply(stop(v.Submit.User, id))
			}
			if n%2 == 0 {
				p.apply(gone(taskKey(id)), task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{id}}})
			}
			if n%10 == 0 {
				p.checkGroups(fmt.Sprintf("after %d tasks", n))
			}
		}
	}
}

func TestAGroupIsGoneWithItsLastTask(t *testing.T) {
	c := submit("ann", "a")
	c.Submit.Group = "g"
	p := newTestStore(t, c, stop("ann", "a"), gone(taskKey("a")))
	if g, ok := p.Group("ann", "g"); !ok || g.Total != 1 {
		t.Errorf("a group in the history: %+v, %v", g, ok)
	}
	if _, ok := p.Group("bob", "g"); ok {
		t.Error("another user has the group")
	}
	p.apply(task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"a"}}})
	if all, _ := p.Groups(task.Query{AllUsers: true}); len(all) > 0 {
		t.Errorf("groups without tasks: %+v", all)
	}
	if _, ok := p.Group("ann", "g"); ok {
		t.Error("a group without tasks")
	}
}

func TestListsOfGroups(t *testing.T) {
	p := newTestStore(t)
	for n := range 2500 {
		c := submit([]string{"ann", "bob"}[n%2], fmt.Sprint("t", n))
		c.Submit.Group = fmt.Sprint("g", n/2)
		p.apply(c)
	}
	p.apply(stop("ann", "t4"), stop("bob", "t5"))
	for _, tt := range []struct {
		q     task.Query
		want  int
		first string
	}{
		{task.Query{User: "ann"}, 1250, "g1249"},
		{task.Query{AllUsers: true}, 2500, "g1249"},
		{task.Query{User: "ann", Limit: 3}, 3, "g1249"},
		{task.Query{User: "ann", Limit: 1250}, 1250, "g1249"},
		{task.Query{User: "ann", Phase: task.Stopped}, 1, "g2"},
		{task.Query{AllUsers: true, Phase: task.Stopped}, 2, "g2"},
		{task.Query{User: "bob", Name: "g7", Limit: 1}, 1, "g7"},
		{task.Query{User: "cid"}, 0, ""},
	} {
		all, next := p.Groups(tt.q)
		if len(all) != tt.want || tt.want > 0 && all[0].Name != tt.first || (next > 0) != (tt.q.Limit == 3) {
			t.Errorf("%+v: %d groups, next %d", tt.q, len(all), next)
		}
	}
}

// A group of 100,000 tasks is described without a visit to its tasks.
func BenchmarkGroup(b *testing.B) {
	for _, tasks := range []int{10, 100_000} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			p := &testStore{Store: New()}
			m := p.guarded.model
			for n := range tasks {
				c := submit("ann", fmt.Sprint("t", n))
				c.Submit.Group = "g"
				raw, _ := c.Encode()
				m.fold(task.Entry{Version: task.EntryVersion, Log: "log", Writer: "w", Number: uint64(n + 1), Seq: uint64(n + 1), Time: noon.Add(time.Duration(n) * time.Millisecond), Commands: []json.RawMessage{raw}})
			}
			for b.Loop() {
				p.Group("ann", "g")
			}
		})
	}
}
