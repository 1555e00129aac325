package status

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// A testLog is a log in memory, and the store and the viewer of a pod that follows the log.
type testLog struct {
	t      *testing.T
	store  *cache.Store
	viewer *Viewer
	seq    uint64
	number uint64

	lost  bool          // the end of the log is unknown
	age   time.Duration // for which the end of the log is unknown
	reads int           // read barriers

	submitted task.Spec // every submission
	gone      error     // of Submission
	place     uint64    // of the last submission that was read
}

func newTestLog(t *testing.T) *testLog {
	l := &testLog{t: t, store: cache.New()}
	l.viewer = NewViewer(l, l.store, "default")
	l.fold()
	return l
}

func (l *testLog) WaitReadIndex(context.Context) (time.Duration, bool) {
	l.reads++
	return l.age, !l.lost
}

func (l *testLog) Submission(_ context.Context, seq uint64, _ string) (task.Spec, error) {
	l.place = seq
	return l.submitted, l.gone
}

// fold adds an entry to the log.
func (l *testLog) fold(commands ...task.Command) {
	l.t.Helper()
	l.seq++
	e := task.Entry{Version: task.EntryVersion, Log: "log", Seq: l.seq, Time: time.Unix(int64(l.seq), 0)} //nolint:gosec // small
	if l.seq > 1 {
		l.number++
		e.Writer, e.Number = "w", l.number
	}
	for _, c := range commands {
		raw, err := c.Encode()
		must.Succeed(l.t, err)
		e.Commands = append(e.Commands, json.RawMessage(raw))
	}
	results, err := l.store.Fold(e)
	must.Succeed(l.t, err)
	for _, r := range results {
		if r.Rejection != "" {
			l.t.Fatalf("the log rejected a command of %+v: %s", commands, r.Rejection)
		}
	}
}

func (l *testLog) submit(user, id string) {
	l.t.Helper()
	l.fold(task.Command{Submit: &task.Submit{ID: id, User: user, Group: "g", Task: task.Spec{Name: id, Run: "true"}}})
}

func (l *testLog) stop(user, id string) {
	l.t.Helper()
	l.fold(task.Command{Stop: &task.Stop{User: user, ID: id}})
}

func (l *testLog) create(user, id string) {
	l.t.Helper()
	l.fold(task.Command{Create: &task.Create{ID: id, User: user, Volume: task.Volume{Name: id, Size: "1Gi"}}})
}

func (l *testLog) read() Read { return l.viewer.Read(l.t.Context()) }

// loseCluster makes the API server stop answering the store.
func (l *testLog) loseCluster() {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	k8s := fake.NewClientset()
	var mu sync.Mutex
	listed := map[string]bool{}
	k8s.PrependReactor("list", "*", func(a clienttesting.Action) (bool, kruntime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if listed[a.GetResource().Resource] {
			cancel() // the store has observed the first failure
		}
		listed[a.GetResource().Resource] = true
		return true, nil, errors.New("connection refused")
	})
	if err := l.store.Watch(cache.SourcesIn("default", k8s)).Run(ctx); !errors.Is(err, context.Canceled) {
		l.t.Fatal(err)
	}
}

// namesIn returns the values of a field of the objects of a list, in order.
func namesIn(t *testing.T, body []byte, list, field string) string {
	t.Helper()
	var all map[string][]map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var names []string
	for _, o := range all[list] {
		name, _ := o[field].(string)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func unknown(string) bool { return false }

// ann returns a list of tasks of ann.
func ann(q query.Tasks) query.List { return query.List{Caller: "ann", Tasks: q} }

func TestAnswers(t *testing.T) {
	l := newTestLog(t)
	l.submit("ann", "a")
	l.submit("ann", "b")
	l.create("ann", "v")
	l.create("bob", "w")
	r := l.read()
	if err := r.Owns("ann", "a"); err != nil || r.Stale != "" || !r.Current {
		t.Errorf("a task of ann: %v, %+v", err, r)
	}
	one, err := r.Task("ann", "a")
	if err != nil || !strings.HasPrefix(string(one.Body), `{"task_id":"a",`) || one.Stale != "" || one.ETag == "" {
		t.Errorf("a task: %+v, %v", one, err)
	}
	volume, err := r.Volume("ann", "v")
	if err != nil || !strings.HasPrefix(string(volume.Body), `{"volume_id":"v",`) || volume.ETag == "" {
		t.Errorf("a volume: %s, %v", volume.Body, err)
	}
	list := r.Tasks(ann(query.Tasks{Limit: 1}), unknown)
	if got := namesIn(t, list.Body, "tasks", "task_id"); got != "b" || list.Next == "" || list.Total != 2 || list.ETag == one.ETag {
		t.Errorf("a list: %+v", list)
	}
	volumes := r.Volumes(task.Query{User: "ann", AllUsers: true, Limit: 1})
	if got := namesIn(t, volumes.Body, "volumes", "volume_id"); got != "w" || volumes.Next == "" {
		t.Errorf("a list of volumes: %+v", volumes)
	}
	g, err := r.Group("ann", "g")
	if err != nil || !strings.HasPrefix(string(g.Body), `{"group":"g","user":"ann",`) || g.ETag == "" {
		t.Errorf("a group: %s, %v", g.Body, err)
	}
	groups := r.Groups(task.Query{User: "ann"})
	if string(groups.Body) != `{"groups":[`+string(g.Body)+`]}` || groups.Next != "" {
		t.Errorf("a list of groups: %s, next %q", groups.Body, groups.Next)
	}
	if l.reads != 1 {
		t.Errorf("the answers waited at %d read barriers", l.reads)
	}
}

func TestEmptyAnswers(t *testing.T) {
	r := newTestLog(t).read()
	if a := r.Tasks(ann(query.Tasks{}), unknown); string(a.Body) != `{"tasks":[]}` || a.Next != "" {
		t.Errorf("tasks: %s, next %q", a.Body, a.Next)
	}
	if a := r.Volumes(task.Query{User: "ann"}); string(a.Body) != `{"volumes":[]}` {
		t.Errorf("volumes: %s", a.Body)
	}
	if _, err := r.Task("ann", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("a task: %v", err)
	}
	if err := r.Owns("ann", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("the owner of a task: %v", err)
	}
	if _, err := r.Group("ann", "g"); !errors.Is(err, problem.NotFound) || err.Error() != `Group "g" not found` {
		t.Errorf("a group: %v", err)
	}
	if _, err := r.Volume("ann", "v"); !errors.Is(err, problem.NotFound) || err.Error() != "Volume v not found" {
		t.Errorf("a volume: %v", err)
	}
}

func TestAnswersReportStaleness(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cluster, lost bool
		age           time.Duration
		want          string
	}{
		{"the log and the API server answer", false, false, 9 * time.Second, ""},
		{"the end of the log is unknown", false, true, 3900 * time.Millisecond, "log; age=3"},
		{"the API server does not answer", true, false, 9 * time.Second, "cluster; age="},
		{"neither answers", true, true, 0, "log; age=0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLog(t)
			l.submit("ann", "a")
			if tt.cluster {
				l.loseCluster()
			}
			l.lost, l.age = tt.lost, tt.age
			r := l.read()
			if r.Current == tt.lost {
				t.Errorf("current: %t", r.Current)
			}
			one, _ := r.Task("ann", "a")
			missing, err := r.Task("ann", "b")
			if !errors.Is(err, problem.NotFound) {
				t.Errorf("error %v", err)
			}
			for what, got := range map[string]string{
				"a summary": r.Summary("ann", false, unknown).Stale, "the capacity": r.Capacity(unknown).Stale, "a task": one.Stale,
				"a list": r.Tasks(ann(query.Tasks{}), unknown).Stale, "volumes": r.Volumes(task.Query{User: "ann"}).Stale, "a task that does not exist": missing.Stale,
			} {
				if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
					t.Errorf("%s: %q, want %q", what, got, tt.want)
				}
			}
		})
	}
}

func TestSpecs(t *testing.T) {
	l := newTestLog(t)
	l.submit("ann", "a")
	l.submitted = task.Spec{Name: "a<b", Run: "true"}
	a, err := l.read().Spec(t.Context(), "ann", "a")
	if err != nil || string(a.Body) != `{"name":"a<b","run":"true"}` || a.ETag == "" || a.Stale != "" || l.place != 2 {
		t.Errorf("a submission: %+v, %s, entry %d, %v", a, a.Body, l.place, err)
	}
	l.gone = problem.New(problem.NotFound, "the submission of task a is no longer available")
	if _, err := l.read().Spec(t.Context(), "ann", "a"); !errors.Is(err, l.gone) {
		t.Errorf("a submission that the log no longer has: %v", err)
	}
	if _, err := l.read().Spec(t.Context(), "bob", "a"); !errors.Is(err, problem.NotFound) || err.Error() != "Task a not found" {
		t.Errorf("the submission of another user: %v", err)
	}
}

func TestETagsNameTheContent(t *testing.T) {
	l := newTestLog(t)
	l.submit("ann", "a")
	tag := func() string {
		a, err := l.read().Task("ann", "a")
		must.Succeed(t, err)
		return a.ETag
	}
	first := tag()
	if first != tag() {
		t.Error("the same content has two tags")
	}
	l.stop("ann", "a")
	if tag() == first {
		t.Error("another content has the same tag")
	}
	if len(first) < len(`W/""`) || first[:3] != `W/"` || first[len(first)-1] != '"' {
		t.Errorf("tag %s", first)
	}
}

// same reports whether two answers share their body, which the second one then has from the cache.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// A list is combined once for each version, and not at all if the caller already has the ETag.
func TestListsAreCached(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would drop the cached bodies
	l := newTestLog(t)
	l.submit("ann", "a")
	l.submit("ann", "b")
	list := func(q query.List, known func(string) bool) query.Answer { return l.read().Tasks(q, known) }
	q := ann(query.Tasks{Limit: 1})
	first := list(q, unknown)
	if again := list(q, unknown); !cmp.Equal(first, again) || !same(first.Body, again.Body) || first.Next == "" {
		t.Errorf("%+v, then %+v", first, again)
	}
	for _, q := range []query.List{{Caller: "bob", Tasks: q.Tasks}, ann(query.Tasks{}), ann(query.Tasks{AllUsers: true, Limit: 1}), ann(query.Tasks{Limit: 1, Name: "a"})} {
		if same(first.Body, list(q, unknown).Body) {
			t.Errorf("%+v has the answer to another list", q)
		}
	}
	runtime.GC()
	if had := list(q, func(tag string) bool { return tag == first.ETag }); had.Body != nil || had.ETag != first.ETag || had.Next != first.Next {
		t.Errorf("a caller with the tag gets %+v", had)
	}
	if again := list(q, unknown); !cmp.Equal(first, again) || same(first.Body, again.Body) {
		t.Errorf("after the memory was needed: %+v", again)
	}
	l.stop("ann", "b")
	if next := list(q, func(tag string) bool { return tag == first.ETag }); !strings.Contains(string(next.Body), `"status":"stopped"`) || next.ETag == first.ETag {
		t.Errorf("after a change: %+v", next)
	}
}

// A pod of the server that cannot read the end of the log does not say that a task has no outputs: the
// task may be in the entries that the pod lacks, and a node gives up after such an answer.
func TestOutputsWhileTheEndOfTheLogIsUnknown(t *testing.T) {
	l := newTestLog(t)
	l.lost = true
	if _, _, err := l.read().OutputRecord("a"); !errors.Is(err, problem.Unavailable) {
		t.Errorf("a task that the pod does not know: %v", err)
	}
	l.fold(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Task: task.Spec{Run: "true", Outputs: []string{"x"}}}})
	if _, _, err := l.read().OutputRecord("a"); err != nil {
		t.Errorf("a task that the pod knows: %v", err)
	}
	l.lost = false
	if _, _, err := l.read().OutputRecord("b"); !errors.Is(err, problem.NotFound) {
		t.Errorf("no task: %v", err)
	}
}
