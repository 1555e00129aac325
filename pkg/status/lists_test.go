package status

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

func TestRowsAreEncodedAsTheirType(t *testing.T) {
	rows := []overview.Row{
		{ID: "a", Phase: task.Pending, Created: 1, Nodes: 1},
		{ID: "b", Name: "n\"<é", User: "u", Phase: task.Failed, Reason: "Error", Created: 1, Started: 2, Ended: 3, Nodes: 4, GPUs: "H100:8"},
	}
	want, err := task.Marshal(overview.Rows{Tasks: rows})
	if err != nil {
		t.Fatal(err)
	}
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
	s := &fakeProjection{rows: []overview.Row{{ID: "a", Phase: task.Running, Created: 7, Nodes: 1}}, version: 1, next: 3}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	requests := map[string]func(known func(string) bool) task.Answer{
		`{"tasks":[{"id":"a","name":"","user":"","status":"running","created":7,"nodes":1}]}`: func(known func(string) bool) task.Answer {
			a := v.Tasks(t.Context(), ann(query.Tasks{View: query.Row}), known)
			if a.Total != 1 || a.Next != "3" {
				t.Errorf("page %+v", a)
			}
			return a.Answer
		},
		`{"total":3,"by_status":{"completed":1,"failed":2},"by_reason":{},"backlog":{"tasks":0,"tasks_per_second":0}}`: func(known func(string) bool) task.Answer {
			return v.Summary(t.Context(), "ann", false, known)
		},
		`{"known":true,"total":`: func(known func(string) bool) task.Answer { return v.Capacity(t.Context(), known) },
	}
	for want, request := range requests {
		s.queries = nil
		first := request(unknown)
		asked := len(s.queries)
		if again := request(unknown); !cmp.Equal(first, again) || len(s.queries) != asked || !strings.HasPrefix(string(first.Body), want) || first.ETag == "" {
			t.Errorf("%s, then %s; asked %v; want %s", first.Body, again.Body, s.queries, want)
		}
		s.version++
		if request(unknown); len(s.queries) != 2*asked {
			t.Errorf("after a change: asked %v", s.queries)
		}
	}
	before := s.synced
	s.version, s.queries = s.version+1, nil
	v.Summary(t.Context(), "bob", false, unknown)
	v.Summary(t.Context(), "bob", true, unknown)
	v.Capacity(t.Context(), unknown)
	if s.synced != before+3 {
		t.Errorf("%d reads waited for the log, want 3", s.synced-before)
	}
	if diff := cmp.Diff([]any{"bob", false, "", true, "capacity"}, s.queries); diff != "" {
		t.Errorf("summaries of others are answered with ann's (-want +got):\n%s", diff)
	}
}

// The tag of a page also names its headers.
func TestTagsOfPagesDifferByTotalAndCursor(t *testing.T) {
	s := &fakeProjection{bodies: [][]byte{[]byte(`{}`)}}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	tags := map[string]bool{}
	for range 3 {
		tags[v.Tasks(t.Context(), ann(query.Tasks{}), unknown).ETag] = true
		s.version, s.next = s.version+1, s.next+5
	}
	if len(tags) != 3 {
		t.Errorf("tags %v of 3 different pages", tags)
	}
}

func TestASummaryCanBeDecoded(t *testing.T) {
	s := &fakeProjection{next: 2}
	var got overview.Summary
	if err := json.Unmarshal(NewViewer(fakeSource{fakeProjection: s}, s, "default").Summary(t.Context(), "ann", false, unknown).Body, &got); err != nil || got.ByStatus[task.Failed] != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
