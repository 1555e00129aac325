package submit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
)

// quotaOf makes the cluster reject Jobs beyond a limit, as a ResourceQuota does: a request for
// an existing Job counts too, until a Job is deleted.
func (w *testCluster) quotaOf(limit int, message string) {
	var mu sync.Mutex
	vain := 0 // requests for existing Jobs
	w.cluster.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		vain = 0
		return false, nil, nil
	})
	w.cluster.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		o, err := w.cluster.Tracker().List(a.GetResource(), batchv1.SchemeGroupVersion.WithKind("Job"), a.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		job, _ := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		all := o.(*batchv1.JobList).Items
		if len(all)+vain >= limit {
			return true, nil, apierrors.NewForbidden(jobs, job.Name, errors.New(strings.ReplaceAll(message, "LIMIT", fmt.Sprint(limit))))
		}
		if slices.ContainsFunc(all, func(j batchv1.Job) bool { return j.Name == job.Name }) {
			vain++
		}
		return false, nil, nil
	})
}

const (
	quotaWithNumbers = "exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=LIMIT, limited: count/jobs.batch=LIMIT"
	quotaWithout     = "exceeded quota: no room"
)

// complete acts as the Job controller and completes running Jobs until all tasks are
// completed.
func (w *testCluster) complete(ids ...string) {
	w.t.Helper()
	w.awaitStore("completion of the tasks", func() (string, bool) {
		left := len(ids)
		live := w.jobsByName()
		for _, id := range ids {
			v := w.store.TaskView(id)
			if v.Phase.Over() {
				if left--; v.Phase != task.Completed {
					w.t.Fatalf("task %s is %s: %s", id, v.Phase, v.Message)
				}
				continue
			}
			var running []string
			for _, name := range v.JobNames() {
				if job, ok := live[name]; ok && !suspended(job) && !isFinished(&job) {
					running = append(running, name)
				}
			}
			if len(running) > 0 && v.NumNodes() > 1 && w.store.TaskView(id).UIDs == nil { // the Job of a single node runs from the start
				w.t.Fatalf("Jobs %q of task %s run before all exist", running, id)
			}
			for _, name := range running {
				w.change(name, over(batchv1.JobComplete))
			}
		}
		return fmt.Sprintf("%d tasks are left, and %d Jobs", left, len(live)), left == 0
	})
}

func TestTasksOfSeveralNodesShareAQuota(t *testing.T) {
	for _, tt := range []struct {
		name    string
		message string
		nodes   []int // number of nodes of each task, in the order of submission
		placed  []int // number of Jobs of each task that an earlier leader has created
	}{
		{"two tasks", quotaWithNumbers, []int{8, 8}, nil},
		{"two tasks, and a quota that does not say its limit", quotaWithout, []int{8, 8}, nil},
		{"two tasks that a leader before left incomplete", quotaWithNumbers, []int{8, 8}, []int{6, 4}},
		{"two such tasks, and a quota that does not say its limit", quotaWithout, []int{8, 8}, []int{4, 6}},
		{"three tasks", quotaWithNumbers, []int{8, 8, 8}, []int{4, 3, 3}},
		{"three tasks, and a quota that does not say its limit", quotaWithout, []int{4, 8, 10}, []int{2, 4, 4}},
		{"tasks of one node between them", quotaWithNumbers, []int{8, 1, 8, 1, 1, 8, 1}, nil},
		{"many tasks", quotaWithNumbers, []int{3, 7, 2, 10, 5, 4, 6, 9}, []int{1, 3, 1, 2, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && len(tt.nodes) > 2 {
				t.Skip("the test is long; make test-unit runs it")
			}
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				var ids []string
				for i, nodes := range tt.nodes {
					id := fmt.Sprint("task", i)
					ids = append(ids, id)
					r := w.submit(id, nodes)
					if i < len(tt.placed) {
						w.place(jobsOf(r)[:tt.placed[i]]...)
					}
				}
				w.quotaOf(10, tt.message)
				w.watch()
				w.run()
				w.complete(ids...)
			})
		})
	}
}

// reservedBy returns a testCluster with a quota of ten Jobs. Task b has eight of them; task a
// was rejected after it had created two.
func reservedBy(t *testing.T) *testCluster {
	t.Helper()
	w := newTestCluster(t)
	w.submit("a", 8)
	w.place(jobsOf(w.submit("b", 8))...)
	w.quotaOf(10, quotaWithNumbers)
	w.watch()
	w.mustFail("a", nil, "blocked")
	return w
}

func TestTheEarlierTaskKeepsItsJobs(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 8)
	w.place(jobsOf(w.submit("b", 8))[:4]...)
	w.quotaOf(10, quotaWithNumbers)
	w.watch()
	w.await("b", "Jobs", func(v task.View) bool { return v.Jobs[3] != nil })
	for range 2 {
		if _, err := w.step("a"); err == nil || len(w.jobsByName()) != 10 {
			t.Fatalf("error %v, %d Jobs", err, len(w.jobsByName()))
		}
	}
	w.mustFail("b", errYielded, "blocked")
	if r := w.record("b"); r.Phase != task.Pending || r.Reason != "QuotaExceeded" || r.Message != messageYielded {
		t.Errorf("record %+v", r)
	}
	w.await("b", "loss of its Jobs", func(v task.View) bool { return v.Jobs[3] == nil })
	w.calls()
	if facts, err := w.step("b"); !errors.Is(err, errYielded) || len(facts) != 0 || len(w.calls()) != 0 {
		t.Errorf("once more: facts %q, error %v", facts, err)
	}
	w.must("a", "applied")
	w.wantJobs(8)
	if facts, err := w.step("b"); err == nil || !slices.Equal(facts, []string{"blocked"}) || len(w.jobsByName()) != 10 {
		t.Errorf("later: facts %q, error %v, %d Jobs", facts, err, len(w.jobsByName()))
	}
	if r := w.record("b"); !strings.Contains(r.Message, "used: count/jobs.batch=10") {
		t.Errorf("it is first, and says %q", r.Message)
	}
}

func TestAHigherPriorityGoesFirst(t *testing.T) {
	w := reservedBy(t)
	w.append(task.Command{Submit: &task.Submit{ID: "c", User: "ann", Image: "python", Task: task.Spec{
		Name: "train", NumNodes: 3, Run: "true", Resources: task.Resources{Priority: 1},
	}}})
	if _, err := w.step("c"); err == nil || errors.Is(err, errYielded) {
		t.Errorf("error %v", err)
	}
	w.await("a", "Jobs", func(v task.View) bool { return v.Jobs[0] != nil && v.Jobs[1] != nil })
	w.mustFail("a", errYielded, "blocked")
	w.wantJobs(8)
}

// A priority orders the tasks of one user alone. A task that goes first by its priority takes the place of
// the task of its user, and no place of another user.
func TestAPriorityDoesNotCountAgainstOtherUsers(t *testing.T) {
	claim := func(user string, priority int, order uint64) quotaClaim {
		return quotaClaim{key: taskKey(fmt.Sprint(order)), user: user, nodes: 2, turn: task.Turn{Priority: priority, Order: order}, order: order}
	}
	waits := func(task.Key) bool { return true }
	var r reservation
	for i, tt := range []struct {
		claim quotaClaim
		first bool
	}{
		{claim("ann", 0, 2), true},
		{claim("bob", 1000, 3), false},
		{claim("ann", 5, 9), true}, // in the place of 2
		{claim("ann", 5, 9), true},
		{claim("bob", 1000, 3), false},
		{claim("ann", 0, 2), false},
		{claim("eve", 0, 1), true},
	} {
		if first, _ := r.request(tt.claim, waits); first != tt.first {
			t.Errorf("request %d: %+v goes first: %t", i, tt.claim, first)
		}
	}
}

// Every place that becomes free goes to the task that waits for more than one place.
func TestALaterTaskTakesNoFreePlace(t *testing.T) {
	w := reservedBy(t)
	w.submit("c", 1)
	w.remove("train-b-node-0")
	w.calls()
	w.mustFail("c", errYielded, "blocked")
	w.mustCall()
	if r := w.record("c"); r.Reason != "QuotaExceeded" || r.Message != messageHeldBack {
		t.Errorf("record %+v", r)
	}
	w.stop("a")
	w.must("c", "applied")
}

// A task that waits for something else holds back no other task.
func TestAClaimEndsWithAnotherError(t *testing.T) {
	w := reservedBy(t)
	w.submit("c", 1)
	w.remove("train-b-node-0")
	w.failing("create", "jobs", 3, errors.New("connection refused"))
	if _, err := w.step("a"); err == nil {
		t.Error("no error")
	}
	w.failing("create", "jobs", 0, nil)
	if _, err := w.step("c"); errors.Is(err, errYielded) {
		t.Errorf("error %v", err)
	}
}

func TestATaskThatNeverFitsGivesWay(t *testing.T) {
	w := newTestCluster(t)
	w.submit("large", 11)
	w.quotaOf(10, quotaWithNumbers)
	w.watch()
	for range 2 {
		if _, err := w.step("large"); err == nil || errors.Is(err, errYielded) || len(w.jobsByName()) != 10 {
			t.Fatalf("alone: error %v, %d Jobs", err, len(w.jobsByName()))
		}
	}
	w.await("large", "Jobs", func(v task.View) bool { return v.Jobs[9] != nil })
	w.submit("small", 1)
	w.mustFail("small", nil, "blocked")
	if _, err := w.step("large"); !errors.Is(err, errYielded) || len(w.jobsByName()) != 0 {
		t.Fatalf("error %v, %d Jobs", err, len(w.jobsByName()))
	}
	w.must("small", "applied")
}

// A Job that another client resumed may have run.
func TestAJobThatRunsIsNotYielded(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 8)
	placed := jobsOf(w.submit("b", 8))[:4]
	placed[3].Spec.Suspend = new(false)
	w.place(placed...)
	w.quotaOf(10, quotaWithNumbers)
	w.watch()
	w.await("b", "Jobs", func(v task.View) bool { return !slices.Contains(v.Jobs[:4], nil) })
	if _, err := w.step("a"); err == nil {
		t.Fatal("no error")
	}
	w.mustFail("b", errYielded, "blocked")
	left := w.jobsByName()
	if _, ok := left["train-b-node-3"]; !ok || len(left) != 7 {
		t.Errorf("%d Jobs are left: %v", len(left), left)
	}
}

func TestLimitOfAQuota(t *testing.T) {
	for text, want := range map[string]int64{
		"exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=10, limited: count/jobs.batch=10":                      10,
		"exceeded quota: q, requested: count/jobs.batch=1,pods=1, used: count/jobs.batch=1k,pods=7, limited: count/jobs.batch=1k,pods=7": 1000,
		"exceeded quota: q, requested: a=1,count/jobs.batch=1, used: a=3,count/jobs.batch=2, limited: a=3,count/jobs.batch=2":            2,
		"exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10":                                                          0,
		"exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=10, limited: count/jobs.batch=many":                    0,
		"exceeded quota: no room": 0,
	} {
		if got := jobLimit(fmt.Errorf("create job a: %w", errors.New(text))); got != want {
			t.Errorf("%s: limit %d, want %d", text, got, want)
		}
	}
}

// Jobs are deleted only after a confirmed read index.
func TestNothingIsGivenUpWhileTheLogIsAway(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(w.submit("a", 2))...)
	w.log.Unknown = true
	if deleted, err := w.yieldRank(t.Context(), taskKey("a"), 0); deleted || !errors.Is(err, errNoReadIndex) {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
	w.log.Unknown = false
	w.stop("a")
	if deleted, err := w.yieldRank(t.Context(), taskKey("a"), 0); deleted || err != nil {
		t.Errorf("of a task that waits for nothing: deleted %v, error %v", deleted, err)
	}
	w.mustCall()
}

// Only deleted Jobs count as yielded.
func TestDeletedJobsCountAsYielded(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  func(*batchv1.Job) // nil if there is no Job
		want bool
	}{
		{"one that never ran", func(*batchv1.Job) {}, true},
		{"none", nil, false},
		{"one that runs", func(j *batchv1.Job) { j.Spec.Suspend = new(false) }, false},
		{"one that was resumed", func(j *batchv1.Job) { j.Annotations[task.AnnotationResumed] = "true" }, false},
		{"one that began", func(j *batchv1.Job) { j.Status.StartTime = new(metav1.Now()) }, false},
		{"another user's", func(j *batchv1.Job) { j.Annotations[task.AnnotationUser] = "bob" }, false},
		{"one that is being deleted", func(j *batchv1.Job) { j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"x/y"} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			if job := jobsOf(w.submit("a", 2))[0]; tt.job != nil {
				tt.job(job)
				w.place(job)
			}
			before := len(w.jobsByName())
			deleted, err := w.yieldRank(t.Context(), taskKey("a"), 0)
			if left := before - len(w.jobsByName()); err != nil || deleted != tt.want || (left == 1) != tt.want {
				t.Errorf("deleted %v, error %v, %d Jobs less", deleted, err, left)
			}
		})
	}
}

// A task of one node holds no places that others need; it records the reason of the quota
// itself.
func TestATaskOfOneNodeGivesNothingUp(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(w.submit("a", 8))[:5]...)
	w.submit("b", 1)
	w.quotaOf(5, quotaWithout)
	if _, err := w.step("a"); err == nil {
		t.Fatal("no error")
	}
	if facts, err := w.step("b"); err == nil || errors.Is(err, errYielded) || !slices.Equal(facts, []string{"blocked"}) {
		t.Errorf("facts %q, error %v", facts, err)
	}
	if r := w.record("b"); !strings.Contains(r.Message, "no room") {
		t.Errorf("message %q", r.Message)
	}
}

func TestTasksTooLargeForAQuota(t *testing.T) {
	for _, tt := range []struct {
		claim quotaClaim
		want  bool
	}{
		{quotaClaim{nodes: 2, limit: 1}, true},
		{quotaClaim{nodes: 1, limit: 1}, false},
		{quotaClaim{nodes: 9, limit: 0}, false}, // an unknown limit
	} {
		if got := tt.claim.tooLarge(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.claim, got, tt.want)
		}
	}
}
