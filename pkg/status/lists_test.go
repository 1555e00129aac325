package status

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

func TestRowsAreEncodedAsTheirType(t *testing.T) {
	rows := []overview.Row{
		{ID: "a", Phase: task.Pending, Created: 1, Nodes: 1},
		{ID: "b", Name: "n\"<é", User: "u", Phase: task.Failed, Reason: "Error", Created: 1, Started: 2, Ended: 3, Nodes: 4, GPUs: "H100:8", ExitCode: new(3), LastLine: "out of \"memory\""},
	}
	want, err := task.Marshal(overview.Rows{Tasks: rows})
	must.Succeed(t, err)
	if got := encodeRows(rows); string(got) != string(want) {
		t.Errorf("rows\n got %s\nwant %s", got, want)
	}
	if got := encodeRows(nil); string(got) != `{"tasks":[]}` {
		t.Errorf("no rows: %s", got)
	}
}

// TestRowsAreSmall measures a row without its name, user and reason.
func TestRowsAreSmall(t *testing.T) {
	const most = 170
	row := overview.Row{
		ID: "mqp6bsu4", Phase: task.Completed, Created: 1 << 34, Started: 1 << 34, Ended: 1 << 34, Nodes: 1 << 20, Restarts: 99_999,
		GPUs: overview.GPUText(strings.Repeat("X", 28) + ":1024"),
	}
	if got := appendRow(nil, &row); len(got) > most {
		t.Errorf("%d bytes, more than %d: %s", len(got), most, got)
	}
	row.GPUs, row.Nodes, row.Created, row.Started, row.Ended = "H100:8", 16, 1795241135, 1795241139, 1795244735
	usual := appendRow(nil, &row)
	t.Logf("a row without name, user and reason has %d bytes: %s", len(usual), usual)
	if got := overview.GPUText(strings.Repeat("X", 40) + ":8"); got != "8" {
		t.Errorf("GPUs of a long model: %s", got)
	}
}

func TestRowsAndOverviewsAreCached(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would drop the cached bodies
	l := newTestLog(t)
	l.submit("ann", "a")
	l.submit("bob", "b")
	rows := func() task.Answer { return l.read().Tasks(ann(query.Tasks{View: query.Row}), unknown).Answer }
	summary := func() task.Answer { return l.read().Summary("ann", false, unknown) }
	capacity := func() task.Answer { return l.read().Capacity(unknown) }
	ofBob, ofAll := l.read().Summary("bob", false, unknown), l.read().Summary("bob", true, unknown)
	for _, tt := range []struct {
		answer func() task.Answer
		want   string
		change func()
	}{
		{rows, `{"tasks":[{"id":"a","name":"a","user":"ann","group":"g","status":"pending",`, func() { l.stop("ann", "a") }},
		{summary, `{"total":1,"by_status":{`, func() { l.submit("ann", "c") }},
		{capacity, `{"known":false,"total":`, l.store.Nodes().MarkSynced},
	} {
		first := tt.answer()
		if again := tt.answer(); !cmp.Equal(first, again) || !same(first.Body, again.Body) || !strings.HasPrefix(string(first.Body), tt.want) || first.ETag == "" {
			t.Errorf("%s, then %s; want %s", first.Body, again.Body, tt.want)
		}
		if same(first.Body, ofBob.Body) || same(first.Body, ofAll.Body) {
			t.Errorf("the summary of another user: %s", first.Body)
		}
		tt.change()
		if changed := tt.answer(); cmp.Equal(first, changed) {
			t.Errorf("after a change: %s", changed.Body)
		}
	}
}

// The tag of a page also names its headers.
func TestTagsOfPagesDifferByTotalAndCursor(t *testing.T) {
	l := newTestLog(t)
	tags, bodies := map[string]bool{}, map[string]bool{}
	for _, id := range []string{"a", "b", "c"} {
		l.submit("ann", id)
		list, err := query.Tasks{View: query.Row, Sort: "name", Limit: 1}.List("ann", time.Now())
		must.Succeed(t, err)
		page := l.read().Tasks(list, unknown)
		tags[page.ETag], bodies[string(page.Body)] = true, true
	}
	if len(tags) != 3 || len(bodies) != 1 {
		t.Errorf("tags %v of 3 pages with the bodies %v", tags, bodies)
	}
}

func TestASummaryCanBeDecoded(t *testing.T) {
	l := newTestLog(t)
	l.submit("ann", "a")
	l.submit("ann", "b")
	l.stop("ann", "b")
	var got overview.Summary
	if err := json.Unmarshal(l.read().Summary("ann", false, unknown).Body, &got); err != nil || got.ByStatus[task.Stopped] != 1 || got.Total != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
