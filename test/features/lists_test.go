package features

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// ids returns the ids of the tasks on all pages of a list, and checks the totals.
func (u *user) ids(t *testing.T, q query.Tasks) (ids []string) {
	t.Helper()
	totals := map[int]bool{}
	for p, err := range u.RowPages(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		totals[p.Total] = true
		for _, row := range p.Items {
			ids = append(ids, row.ID)
		}
	}
	if len(totals) != 1 || !totals[len(ids)] {
		t.Errorf("%+v: %d tasks, totals %v", q, len(ids), slices.Collect(maps.Keys(totals)))
	}
	return ids
}

// The filters, orders and pages of a list, for tasks in every phase.
func TestListsWithFilters(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.as(t, "ann"), s.as(t, "bob")
	done := ann.submit(t, "name: train-a\nresources: {labels: {team: search}}\nrun: 'true'")
	failed := ann.submit(t, "name: train-b\nresources: {labels: {team: ads}}\nrun: exit 3")
	ann.await(t, done, task.Completed)
	ann.await(t, failed, task.Failed)
	running := ann.submit(t, "name: eval\nresources: {labels: {team: search, tier: gold}}\n"+yaml("run", endless))
	ann.await(t, running, task.Running)
	waiting := ann.submit(t, "name: eval-large\nvolumes: {/data: absent}\nrun: 'true'")
	ann.awaitWhere(t, waiting, "with a reason", func(s task.Status) bool { return s.Metadata.Reason == task.ReasonVolume })
	bobs := bob.submit(t, "name: train-a\nresources: {labels: {team: search}}\n"+yaml("run", endless))
	bob.await(t, bobs, task.Running)
	all := []string{waiting, running, failed, done}
	ended := []string{failed, done}
	if ann.task(t, done).UpdatedAt.After(ann.task(t, failed).UpdatedAt) {
		slices.Reverse(ended)
	}
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", all},
		{"sort=created", []string{done, failed, running, waiting}},
		{"sort=name", []string{running, waiting, done, failed}},
		{"sort=status", []string{waiting, running, done, failed}},
		{"sort=-ended", append(slices.Clone(ended), waiting, running)},
		{"status=failed,running", []string{running, failed}},
		{"status=failed&status=completed&sort=name", []string{done, failed}},
		{"name=train-a", []string{done}},
		{"name_prefix=train-", []string{failed, done}},
		{"name_contains=al", []string{waiting, running}},
		{"label=team", []string{running, failed, done}},
		{"label=team%3Dsearch", []string{running, done}},
		{"label=team=search,tier", []string{running}},
		{"reason=" + task.ReasonVolume, []string{waiting}},
		{"reason=Error," + task.ReasonVolume, []string{waiting, failed}},
		{"since=1d", all},
		{"since=2100-01-01T00:00:00Z", nil},
		{"user=ann", all},
		{"user=bob", []string{bobs}},
		{"all_users=true&name=train-a", []string{bobs, done}},
	} {
		for _, size := range []string{"", "&limit=1", "&limit=3", "&limit=50"} {
			path, got := "/tasks?"+tt.query+size, []string(nil)
			for path != "" {
				page := s.get(t, "ann", path)
				for _, one := range decode[task.List](t, page).Tasks {
					got = append(got, one.ID)
				}
				if total := page.header.Get("X-Total-Count"); total != strconv.Itoa(len(tt.want)) {
					t.Errorf("%s: total %s, want %d", path, total, len(tt.want))
				}
				link := page.header.Get("Link")
				if (link == "") != (page.header.Get("X-Next-Cursor") == "") {
					t.Errorf("%s: link %q, cursor %q", path, link, page.header.Get("X-Next-Cursor"))
				}
				path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s%s: %v, want %v", tt.query, size, got, tt.want)
			}
		}
		values := s.get(t, "ann", "/tasks?"+tt.query)
		if same := s.get(t, "ann", "/tasks?"+tt.query, "If-None-Match", values.header.Get("ETag")); same.code != http.StatusNotModified || same.header.Get("X-Total-Count") == "" {
			t.Errorf("%s with its tag: %d %v", tt.query, same.code, same.header)
		}
	}
	if got := ann.ids(t, query.Tasks{Labels: []string{"team=search"}, Sort: "name", Limit: 1}); !slices.Equal(got, []string{running, done}) {
		t.Errorf("rows of the client: %v", got)
	}
	s.process.terminate(t)
	s.process.exit(t)
	s = s.again(t) // the snapshot or the log has what the lists show
	ann = s.as(t, "ann")
	if got := ann.ids(t, query.Tasks{Labels: []string{"team"}, Sort: "created"}); !slices.Equal(got, []string{done, failed, running}) {
		t.Errorf("after a restart: %v", got)
	}
	ann.stop(t, running)
	if got := ann.ids(t, query.Tasks{Phases: []task.Phase{task.Running}}); len(got) != 0 {
		t.Errorf("after the stop, these tasks are running: %v", got)
	}
}

// Rows agree with the status of each task, and are small.
func TestRows(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	done := ann.submit(t, "name: n\nrun: 'true'")
	ann.await(t, done, task.Completed)
	stuck := ann.submit(t, "num_nodes: 2\nresources: {accelerators: 'H100:8'}\nrun: 'true'")
	ann.awaitWhere(t, stuck, "without a machine", func(s task.Status) bool { return s.Metadata.Reason == corev1.PodReasonUnschedulable })
	body := ann.get(t, ann.name, "/tasks?view=row").body
	rows := decode[overview.Rows](t, ann.get(t, ann.name, "/tasks?view=row")).Tasks
	if len(rows) != 2 {
		t.Fatalf("rows %s", body)
	}
	for _, row := range rows {
		one := ann.task(t, row.ID)
		if row.Name != one.Name || row.User != ann.name || row.Phase != one.Phase || row.Reason != one.Metadata.Reason || row.Created != one.CreatedAt.Unix() || row.Nodes != one.Metadata.NumNodes {
			t.Errorf("row %+v of %s", row, sketch(one))
		}
		raw, err := json.Marshal(row)
		if size := len(raw) - len(row.Name) - len(row.User) - len(row.Reason); err != nil || size > 170 {
			t.Errorf("%d bytes: %s, %v", size, raw, err)
		}
	}
	if over := rows[1]; over.ID != done || over.Started < over.Created || over.Ended < over.Started || over.GPUs != "" {
		t.Errorf("row of a completed task: %+v", over)
	}
	if waits := rows[0]; waits.ID != stuck || waits.Started != 0 || waits.Ended != 0 || waits.GPUs != "H100:8" {
		t.Errorf("row of a waiting task: %+v", waits)
	}
}

// A read that begins after the response to a command shows the command, in every order and view.
func TestListsShowWhatWasAccepted(t *testing.T) {
	t.Parallel()
	s, other := startTwo(t)
	for i := range 20 {
		name := fmt.Sprint("n", i)
		id := s.as(t, "ann").submit(t, "name: "+name+"\n"+idle)
		for _, q := range []query.Tasks{{NamePrefix: name, Sort: "name"}, {Name: name}, {Limit: 1}, {Since: "1h", Sort: "-status", Name: name}} {
			p, err := other.as(t, "ann").RowPage(t.Context(), q)
			if err != nil || p.Stale == "" && (len(p.Items) == 0 || !slices.ContainsFunc(p.Items, func(r overview.Row) bool { return r.ID == id })) {
				t.Errorf("task %s is not in the list %+v of the other pod: %+v, %v", id, q, p, err)
			}
		}
		if sum, err := other.as(t, "ann").Summary(t.Context(), false); err != nil || sum.Total < i+1 {
			t.Errorf("after %d submissions: %+v, %v", i+1, sum, err)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	const admins = "--admins=root"
	s := start(t, "--auth", "header", admins, "--max-active-jobs-per-user", "1")
	ann, bob, root := s.as(t, "ann"), s.as(t, "bob"), s.as(t, "root")
	running := ann.submit(t, yaml("run", endless))
	ann.await(t, running, task.Running)
	waits := ann.submit(t, "run: 'true'")
	ann.awaitWhere(t, waits, "in the backlog", func(s task.Status) bool { return s.Metadata.Reason == task.ReasonMaxUserJobs })
	bobs := bob.submit(t, "run: 'true'")
	bob.await(t, bobs, task.Completed)
	sum, err := ann.Summary(t.Context(), false)
	if err != nil || sum.Total != 2 || sum.ByStatus[task.Running] != 1 || sum.ByStatus[task.Pending] != 1 || !maps.Equal(sum.ByReason, map[string]int{task.ReasonMaxUserJobs: 1}) || sum.ByUser != nil {
		t.Errorf("summary of ann: %+v, %v", sum, err)
	}
	if want := ann.task(t, waits).CreatedAt; sum.Backlog.Tasks != 1 || sum.Backlog.Oldest == nil || !sum.Backlog.Oldest.Equal(want) {
		t.Errorf("ann's backlog: %+v, want one task since %s", sum.Backlog, want)
	}
	if sum, err := bob.Summary(t.Context(), false); err != nil || sum.Total != 1 || len(sum.ByReason) != 0 || sum.Backlog.Tasks != 0 || sum.Backlog.Oldest != nil {
		t.Errorf("summary of bob: %+v, %v", sum, err)
	}
	all, err := root.Summary(t.Context(), true)
	if err != nil || all.Total != 3 || len(all.ByUser) != 2 || all.ByUser["bob"][task.Completed] != 1 || all.ByUser["ann"][task.Pending] != 1 {
		t.Errorf("summary of all users: %+v, %v", all, err)
	}
	s.get(t, "bob", "/summary?all_users=true").wants(t, http.StatusForbidden, "all_users: only administrators of this server (--admins) may set it; omit it to get your own")
	s.get(t, "bob", "/tasks?user=ann").wants(t, http.StatusForbidden, "user: only administrators of this server (--admins) may name another user; omit it to get your own")
	got := s.get(t, "ann", "/summary")
	if same := s.get(t, "ann", "/summary", "If-None-Match", got.header.Get("ETag")); same.code != http.StatusNotModified {
		t.Errorf("with its tag: %d", same.code)
	}
	ann.stop(t, waits)
	if same := s.get(t, "ann", "/summary", "If-None-Match", got.header.Get("ETag")); same.code != http.StatusOK || decode[overview.Summary](t, same).ByStatus[task.Stopped] != 1 {
		t.Errorf("after a stop, with the tag of before: %d %s", same.code, same.body)
	}
}

// No filter, order, total or reason of a list reveals a task of another user.
func TestListsShowNothingOfOtherUsers(t *testing.T) {
	t.Parallel()
	s := start(t, "--auth", "token", "--admins", "root",
		"--tokens-file", file(t, "tokens", fmt.Sprintf("%x ann\n%x bob\n", sha256.Sum256([]byte("anns")), sha256.Sum256([]byte("bobs")))))
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	hers := s.post(t, "", "/tasks/submit", `{"name":"hers","resources":{"labels":{"team":"hers"}},"run":"true","volumes":{"/data":"absent"}}`, as("anns")...)
	id := decode[task.Submitted](t, hers).ID
	cursor := ""
	for range 2 {
		s.post(t, "", "/tasks/submit", `{"name":"hers","run":"true","volumes":{"/data":"absent"}}`, as("anns")...)
	}
	if cursor = s.get(t, "", "/tasks?limit=1", as("anns")...).header.Get("X-Next-Cursor"); cursor == "" {
		t.Fatal("ann's list has no second page")
	}
	for _, q := range []string{
		"", "status=pending", "name=hers", "name_prefix=h", "name_contains=er", "label=team", "label=team=hers", "reason=" + task.ReasonVolume,
		"since=1d", "sort=name", "sort=-started", "view=row", "user=bob", "view=row&limit=1",
	} {
		got := s.get(t, "", "/tasks?"+q, as("bobs")...)
		if got.code != http.StatusOK || string(got.body) != `{"tasks":[]}` || got.header.Get("X-Total-Count") != "0" || got.header.Get("Link") != "" {
			t.Errorf("%q: %d %s %v", q, got.code, got.body, got.header)
		}
	}
	s.get(t, "", "/tasks?limit=1&cursor="+cursor, as("bobs")...).wants(t, 422, "cursor: the cursor belongs to a list with other filters or another order; repeat the parameters of the first page, or begin again without a cursor")
	for _, path := range []string{"/summary", "/capacity"} {
		if got := s.get(t, "", path, as("bobs")...); got.code != http.StatusOK || strings.Contains(string(got.body), "ann") || strings.Contains(string(got.body), id) || strings.Contains(string(got.body), task.ReasonVolume) {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}

// The capacity counts the requests of the tasks' pods on a machine, until the pods end.
func TestCapacity(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	m := s.newMachine(t, "big", map[string]string{"nvidia.com/gpu.product": "Tesla-T4"}, corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), "nvidia.com/gpu": resource.MustParse("8"),
	})
	node := func(ok func(overview.Node) bool) overview.Node {
		t.Helper()
		var found overview.Node
		eventually(t, "the machine is shown", func() (string, bool) {
			c, err := ann.Capacity(t.Context())
			i := slices.IndexFunc(c.Nodes, func(n overview.Node) bool { return n.Name == m.name })
			if err != nil || !c.Known || i < 0 {
				return fmt.Sprintf("%+v, %v", c, err), false
			}
			found = c.Nodes[i]
			return fmt.Sprintf("%+v", found), ok(found)
		})
		return found
	}
	n := node(func(n overview.Node) bool { return n.Allocatable.CPUs == 64 })
	if n.GPU != "T4" || n.Schedulable || !strings.HasPrefix(n.Taint, machineTaint) || n.Allocatable.GPUs != 8 || n.Requested != (overview.Amounts{}) || n.Free != n.Allocatable {
		t.Errorf("an empty machine: %+v", n)
	}
	id := ann.submit(t, m.file("", "resources: {cpus: 4, memory: 8, accelerators: 'T4:2'}"))
	pod := m.awaitPod(t, id)
	n = node(func(n overview.Node) bool { return n.Requested.Pods == 1 })
	want := overview.Amounts{CPUs: 4, Memory: 8 << 30, GPUs: 2, Pods: 1}
	if n.Requested != want || n.Free.GPUs != 6 || n.Free.CPUs != 60 {
		t.Errorf("with a task: %+v, want %+v requested", n, want)
	}
	got := s.get(t, "ann", "/capacity")
	if strings.Contains(string(got.body), id) || strings.Contains(string(got.body), `"ann"`) || got.header.Get("ETag") == "" {
		t.Errorf("%s %v", got.body, got.header)
	}
	ann.stop(t, id)
	m.buries(t, pod)
	node(func(n overview.Node) bool { return n.Requested == (overview.Amounts{}) })
}
