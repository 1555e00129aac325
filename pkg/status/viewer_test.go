package status

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
	"k8s-cli/pkg/task/usage"
)

// A fakeProjection is a log and a store with the answers that a test sets.
type fakeProjection struct {
	age         time.Duration
	lost        bool
	unavailable error
	record      *task.Record
	bodies      [][]byte
	next        uint64
	rows        []overview.Row
	version     uint64
	upload      *task.UploadRecord
	synced      int
	queries     []any
}

func (s *fakeProjection) WaitReadIndex(context.Context) (time.Duration, bool) {
	s.synced++
	return s.age, !s.lost
}

func (s *fakeProjection) one(asked ...any) ([]byte, bool) {
	s.queries = append(s.queries, asked...)
	if s.synced == 0 || len(s.bodies) == 0 {
		return nil, false
	}
	return s.bodies[0], true
}

func (s *fakeProjection) TaskAnswer(user, id string, _ cache.Encoded) (cache.Answer, bool) {
	body, ok := s.one(user, id)
	return cache.Answer{ID: id, Encoded: body}, ok
}

func (s *fakeProjection) VolumeAnswer(user, id string) (task.VolumeView, bool) {
	_, ok := s.one(user, id)
	return volumeOf(user, id), ok
}

func volumeOf(user, id string) task.VolumeView {
	return task.VolumeView{VolumeRecord: &task.VolumeRecord{Create: task.Create{ID: id, User: user}}}
}

func (s *fakeProjection) Owner(k task.Key) (string, bool) { return "ann", s.synced > 0 && k.ID == "a" }

func (s *fakeProjection) ClusterLag() (time.Duration, error) { return s.age, s.unavailable }

// Submission stands for two look-ups: the entry of a task in the store, and the task of that
// entry in the log.
func (s *fakeProjection) Submission(user, id string) (uint64, bool) {
	_, ok := s.one("place", user, id)
	return 7, ok
}

// A fakeSource is the log of a fakeProjection.
type fakeSource struct {
	*fakeProjection
	submitted task.Spec
	err       error
}

func (j fakeSource) Submission(_ context.Context, seq uint64, id string) (task.Spec, error) {
	j.queries = append(j.queries, seq, id)
	return j.submitted, j.err
}

func TestSpecs(t *testing.T) {
	s := &fakeProjection{bodies: [][]byte{nil}}
	v := NewViewer(fakeSource{fakeProjection: s, submitted: task.Spec{Name: "a<b", Run: "true"}}, s, "default")
	a, err := v.Spec(t.Context(), "ann", "a")
	if err != nil || string(a.Body) != `{"name":"a<b","run":"true"}` || a.ETag == "" || a.Stale != "" {
		t.Errorf("a submission: %+v, %s, %v", a, a.Body, err)
	}
	if diff := cmp.Diff([]any{"place", "ann", "a", uint64(7), "a"}, s.queries); diff != "" {
		t.Errorf("store and log were asked for (-want +got):\n%s", diff)
	}
	lost := problem.New(problem.NotFound, "the submission of task a is no longer available")
	if _, err := NewViewer(fakeSource{fakeProjection: s, err: lost}, s, "default").Spec(t.Context(), "ann", "a"); !errors.Is(err, lost) {
		t.Errorf("a submission that is lost: %v", err)
	}
	s.bodies = nil
	if _, err := v.Spec(t.Context(), "bob", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("the submission of no task: %v", err)
	}
}

func (s *fakeProjection) Upload(user, sum string) (task.UploadRecord, bool) {
	if s.synced == 0 || s.upload == nil || s.upload.Key() != (task.UploadKey{User: user, Sum: sum}) {
		return task.UploadRecord{}, false
	}
	return *s.upload, true
}

func (s *fakeProjection) OutputRecord(id string) (*task.Record, int64, bool) {
	if s.synced == 0 || s.record == nil || s.record.Submit.ID != id {
		return nil, 0, false
	}
	return s.record, outputs.Size(s.record.Outputs), true
}

func (s *fakeProjection) TaskUpload(id, sum string) (task.UploadRecord, bool) {
	return s.Upload("of "+id, sum)
}

func (s *fakeProjection) TaskAnswers(l query.List, _ cache.Encoded, visit func(cache.Answer)) query.Page {
	s.queries = append(s.queries, l)
	for _, body := range s.bodies {
		visit(cache.Answer{Encoded: body})
	}
	return s.page()
}

func (s *fakeProjection) TaskRows(l query.List) ([]overview.Row, query.Page) {
	s.queries = append(s.queries, l)
	return s.rows, s.page()
}

func (s *fakeProjection) page() query.Page {
	p := query.Page{Total: len(s.bodies) + len(s.rows)}
	if s.next > 0 {
		p.Next = strconv.FormatUint(s.next, 10)
	}
	return p
}

func (s *fakeProjection) TaskVersion(query.List) [2]uint64 { return [2]uint64{s.version} }

func (s *fakeProjection) Summary(user string, all bool) overview.Summary {
	s.queries = append(s.queries, user, all)
	return overview.Summary{Total: int(s.next), ByStatus: overview.Counts{task.Failed: 2, task.Completed: 1}, ByReason: map[string]int{}}
}

func (s *fakeProjection) SummaryVersion(string, bool) [2]uint64 { return [2]uint64{s.version} }

func (s *fakeProjection) Capacity() overview.Capacity {
	s.queries = append(s.queries, "capacity")
	return overview.Capacity{Known: true, GPUs: []overview.GPUModel{}, Nodes: []overview.Node{{Name: "n", Resources: overview.Resources{Allocatable: overview.Amounts{CPUs: float64(s.next)}}}}}
}

func (s *fakeProjection) CapacityVersion() [2]uint64 { return [2]uint64{s.version} }

// ann returns a list of tasks of ann.
func ann(q query.Tasks) query.List { return query.List{Caller: "ann", Tasks: q} }

func (s *fakeProjection) VolumeAnswers(q task.Query) (views []task.VolumeView, next uint64) {
	s.queries = append(s.queries, q)
	for range s.bodies {
		views = append(views, volumeOf(q.User, "v"))
	}
	return views, s.next
}

func (s *fakeProjection) Group(user, name string) (group.Group, bool) {
	_, ok := s.one(user, name)
	return group.Group{Name: name, User: user, SubmittedAt: noon, ByStatus: overview.Counts{}}, ok
}

func (s *fakeProjection) UsageReport(q usage.Query) usage.Report {
	return usage.Report{Since: q.Since.String(), Rows: []usage.Row{{User: q.User}}}
}

func (s *fakeProjection) Groups(q task.Query) ([]group.Group, uint64) {
	return []group.Group{{Name: "g", User: q.User, SubmittedAt: noon, ByStatus: overview.Counts{}}}, s.next
}

func (s *fakeProjection) PendingMounts(volume string) []string { return []string{"mounts " + volume} }

func TestAnswers(t *testing.T) {
	s := &fakeProjection{bodies: [][]byte{[]byte(`{"task_id":"a"}`), []byte(`{"task_id":"b"}`)}, next: 17}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	if stale, err := v.Owns(t.Context(), "ann", "a"); stale != "" || err != nil {
		t.Errorf("a task of ann: stale %q, %v", stale, err)
	}
	s.queries, s.synced = nil, 0
	one, err := v.Task(t.Context(), "ann", "a")
	if err != nil || string(one.Body) != `{"task_id":"a"}` || one.Stale != "" || one.ETag == "" {
		t.Errorf("a task: %+v, %v", one, err)
	}
	volume, err := v.Volume(t.Context(), "ann", "a")
	if err != nil || !strings.HasPrefix(string(volume.Body), `{"volume_id":"a",`) || volume.ETag == "" {
		t.Errorf("a volume: %s, %v", volume.Body, err)
	}
	if owner, ok := v.Owner(t.Context(), task.Key{Kind: task.KindTask, ID: "a"}); owner != "ann" || !ok {
		t.Errorf("the owner of a task: %q, %t", owner, ok)
	}
	list := v.Tasks(t.Context(), ann(query.Tasks{Limit: 2}), unknown)
	if string(list.Body) != `{"tasks":[{"task_id":"a"},{"task_id":"b"}]}` || list.Next != "17" || list.ETag == one.ETag {
		t.Errorf("a list: %+v", list)
	}
	volumes := v.Volumes(t.Context(), task.Query{User: "ann", AllUsers: true})
	if strings.Count(string(volumes.Body), `{"volume_id":"v",`) != 2 || volumes.Next != "17" {
		t.Errorf("a list of volumes: %+v", volumes)
	}
	g, err := v.Group(t.Context(), "ann", "g")
	if err != nil || !strings.HasPrefix(string(g.Body), `{"group":"g","user":"ann","status":""`) || g.ETag == "" {
		t.Errorf("a group: %s, %v", g.Body, err)
	}
	groups := v.Groups(t.Context(), task.Query{User: "ann"})
	if string(groups.Body) != `{"groups":[`+string(g.Body)+`]}` || groups.Next != "17" {
		t.Errorf("a list of groups: %s, next %q", groups.Body, groups.Next)
	}
	want := []any{"ann", "a", "ann", "a", ann(query.Tasks{Limit: 2}), task.Query{User: "ann", AllUsers: true}, "ann", "g"}
	if diff := cmp.Diff(want, s.queries); diff != "" || s.synced != 7 {
		t.Errorf("after %d looks at the log the store was asked for (-want +got):\n%s", s.synced, diff)
	}
}

func TestEmptyAnswers(t *testing.T) {
	v := NewViewer(fakeSource{fakeProjection: &fakeProjection{}}, &fakeProjection{}, "default")
	if a := v.Tasks(t.Context(), query.List{}, unknown); string(a.Body) != `{"tasks":[]}` || a.Next != "" {
		t.Errorf("tasks: %s, next %q", a.Body, a.Next)
	}
	if a := v.Volumes(t.Context(), task.Query{User: "ann"}); string(a.Body) != `{"volumes":[]}` {
		t.Errorf("volumes: %s", a.Body)
	}
	if _, err := v.Task(t.Context(), "ann", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("a task: %v", err)
	}
	if _, err := v.Owns(t.Context(), "ann", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("the owner of a task: %v", err)
	}
	if _, err := v.Group(t.Context(), "ann", "g"); !errors.Is(err, problem.NotFound) || err.Error() != `Group "g" not found` {
		t.Errorf("a group: %v", err)
	}
	if _, err := v.Volume(t.Context(), "ann", "v"); !errors.Is(err, problem.NotFound) || err.Error() != "Volume v not found" {
		t.Errorf("a volume: %v", err)
	}
}

func TestWhatAnAnswerMayLack(t *testing.T) {
	for _, tt := range []struct {
		name           string
		fakeProjection fakeProjection
		want           string
	}{
		{"nothing", fakeProjection{age: 9 * time.Second}, ""},
		{"the log's end", fakeProjection{lost: true, age: 3900 * time.Millisecond}, "log; age=3"},
		{"what the cluster shows", fakeProjection{unavailable: errors.New("refused"), age: time.Minute}, "cluster; age=60"},
		{"both", fakeProjection{lost: true, unavailable: errors.New("refused"), age: 0}, "log; age=0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := NewViewer(fakeSource{fakeProjection: &tt.fakeProjection}, &tt.fakeProjection, "default")
			_, err := v.Task(t.Context(), "ann", "a")
			missing, _ := v.Task(t.Context(), "ann", "a")
			for what, got := range map[string]string{
				"a summary": v.Summary(t.Context(), "ann", false, unknown).Stale, "the capacity": v.Capacity(t.Context(), unknown).Stale,
				"a list": v.Tasks(t.Context(), query.List{}, unknown).Stale, "volumes": v.Volumes(t.Context(), task.Query{User: "ann"}).Stale, "a task that is not there": missing.Stale,
			} {
				if got != tt.want {
					t.Errorf("%s: %q, want %q", what, got, tt.want)
				}
			}
			if !errors.Is(err, problem.NotFound) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func unknown(string) bool { return false }

func TestTagsNameTheContent(t *testing.T) {
	s := &fakeProjection{bodies: [][]byte{[]byte(`{"a":1}`)}, version: 1}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	tag := func() string {
		a, err := v.Task(t.Context(), "ann", "a")
		if err != nil {
			t.Fatal(err)
		}
		return a.ETag
	}
	first := tag()
	if first != tag() {
		t.Error("the same content has two tags")
	}
	s.bodies = [][]byte{[]byte(`{"a":2}`)}
	if tag() == first {
		t.Error("another content has the same tag")
	}
	if len(first) < len(`W/""`) || first[:3] != `W/"` || first[len(first)-1] != '"' {
		t.Errorf("tag %s", first)
	}
}

// A list is combined once for each version, and not at all if the caller already has the ETag.
func TestListsAreCached(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would drop the cached bodies
	s := &fakeProjection{bodies: [][]byte{[]byte(`{"a":1}`)}, next: 3, version: 1}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	list := func(q query.List, known func(string) bool) query.Answer { return v.Tasks(t.Context(), q, known) }
	q := ann(query.Tasks{Limit: 1})
	first := list(q, unknown)
	if again := list(q, unknown); !cmp.Equal(first, again) || len(s.queries) != 1 || first.Next != "3" {
		t.Errorf("asked %d times: %+v, then %+v", len(s.queries), first, again)
	}
	for i, q := range []query.List{{Caller: "bob", Tasks: q.Tasks}, ann(query.Tasks{}), ann(query.Tasks{AllUsers: true, Limit: 1}), ann(query.Tasks{Limit: 1, Name: "a"})} {
		if list(q, unknown); len(s.queries) != 2+i {
			t.Errorf("%+v is answered with what was kept for another", q)
		}
	}
	runtime.GC()
	if had := list(q, func(tag string) bool { return tag == first.ETag }); had.Body != nil || had.ETag != first.ETag || had.Next != "3" || len(s.queries) != 5 {
		t.Errorf("who has it gets %+v", had)
	}
	if again := list(q, unknown); !cmp.Equal(first, again) || len(s.queries) != 6 {
		t.Errorf("asked %d times, when the memory was needed: %+v", len(s.queries), again)
	}
	s.version, s.bodies = 2, [][]byte{[]byte(`{"a":2}`)}
	if next := list(q, func(tag string) bool { return tag == first.ETag }); string(next.Body) != `{"tasks":[{"a":2}]}` || next.ETag == first.ETag {
		t.Errorf("after a change: %+v", next)
	}
}

// A pod of the server that cannot read the end of the log does not say that a task has no outputs: the
// task may be in the entries that the pod lacks, and a node gives up after such an answer.
func TestOutputsWhileTheEndOfTheLogIsUnknown(t *testing.T) {
	s := &fakeProjection{lost: true}
	v := NewViewer(fakeSource{fakeProjection: s}, s, "default")
	if _, _, err := v.OutputRecord(t.Context(), "a"); !errors.Is(err, problem.Unavailable) {
		t.Errorf("a task that the pod does not know: %v", err)
	}
	s.record = &task.Record{Submit: task.Submit{ID: "a", Task: task.Spec{Outputs: []string{"x"}}}}
	if _, _, err := v.OutputRecord(t.Context(), "a"); err != nil {
		t.Errorf("a task that the pod knows: %v", err)
	}
	s.lost = false
	if _, _, err := v.OutputRecord(t.Context(), "b"); !errors.Is(err, problem.NotFound) {
		t.Errorf("no task: %v", err)
	}
}
