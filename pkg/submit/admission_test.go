package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/memlog"
	"k8s-cli/test/testkit/must"
)

// limit sets the limits of Jobs.
func (w *testCluster) limit(total, perUser int) {
	w.store.SetAdmissionLimits(task.AdmissionLimits{JobLimits: task.JobLimits{Total: total, PerUser: perUser}})
}

// admission makes the controller admit once, and returns the tasks that were admitted since
// the start of the test.
func (w *testCluster) admission() string {
	w.t.Helper()
	w.admitNext(w.t.Context(), w.store.Admission)
	var ids []string
	for _, k := range w.store.Keys() {
		if w.store.TaskView(k.ID).Admitted {
			ids = append(ids, k.ID)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestNothingIsCreatedBeforeItIsAdmitted(t *testing.T) {
	w := newTestCluster(t)
	w.appendAlone(of("ann", "a", 1))
	w.must("a")
	if calls := w.calls(); len(calls) != 0 {
		t.Errorf("before, the controller calls %q", calls)
	}
	if got := w.admission(); got != "a" || !slices.Equal(w.log.Facts(), []string{"admitted"}) {
		t.Errorf("admitted: %q", got)
	}
	w.must("a", "applied")
	if w.admitNext(t.Context(), w.store.Admission); len(w.log.Facts()) > 0 {
		t.Error("nothing waits, and something was appended")
	}
}

// A single task waits for one further entry of the log, and for no timer.
func TestALoneTaskIsAdmittedAtOnce(t *testing.T) {
	w := newTestCluster(t)
	w.run()
	for _, id := range []string{"a", "b"} {
		w.appendAlone(of("ann", id, 1))
		w.await(id, "Job", func(v task.View) bool { return v.UIDs != nil })
	}
	if created := len(w.jobsByName()); created != 2 {
		t.Errorf("%d Jobs were created", created)
	}
	admissions := 0
	for _, e := range w.log.Entries() {
		if strings.HasPrefix(string(e.Commands[0]), `{"admitted"`) {
			admissions++
		}
	}
	if admissions != 2 {
		t.Errorf("the log has %d admissions", admissions)
	}
}

func TestTasksAreAdmittedTogether(t *testing.T) {
	w := newTestCluster(t)
	for n := range 100 {
		w.appendAlone(of("ann", fmt.Sprint("a", n), 1))
	}
	w.admission()
	if facts := w.log.Facts(); !slices.Equal(facts, []string{"admitted"}) {
		t.Errorf("facts %q", facts)
	}
}

// The first task of a user does not wait until the window has free places.
func TestTheFirstTaskOfAUserWaitsForNoWindow(t *testing.T) {
	w := newTestCluster(t)
	w.window = 2
	for _, id := range []string{"a1", "a2", "a3"} {
		w.appendAlone(of("ann", id, 1))
	}
	if got := w.admission(); got != "a1 a2" {
		t.Fatalf("admitted: %q", got)
	}
	w.appendAlone(of("bob", "b1", 1), of("bob", "b2", 1))
	w.log.Facts()
	if w.admitNext(t.Context(), w.store.FirstAdmission); !w.store.TaskView("b1").Admitted {
		t.Error("the first task is not admitted")
	}
	if w.store.TaskView("b2").Admitted || w.store.TaskView("a3").Admitted {
		t.Error("others are admitted beyond the window")
	}
	if again := w.admitNext(t.Context(), w.store.FirstAdmission); again || !slices.Equal(w.log.Facts(), []string{"admitted"}) {
		t.Error("another admission was appended")
	}
}

func TestATaskLargerThanALimitFails(t *testing.T) {
	w := newTestCluster(t)
	w.limit(5, 4)
	w.run()
	w.appendAlone(of("ann", "large", 5), of("ann", "small", 4))
	const message = "the task has 5 nodes, one Job each, but at most 4 Jobs of one user may exist at once (--max-active-jobs-per-user)"
	r := w.await("large", "end", func(v task.View) bool { return v.CleanedUp }).Record
	if r.Phase != task.Failed || r.Reason != task.ReasonTooLarge || r.Message != message {
		t.Errorf("%s, %s: %s", r.Phase, r.Reason, r.Message)
	}
	w.await("small", "Jobs", func(v task.View) bool { return v.UIDs != nil })
	if names := w.jobsByName(); len(names) != 4 {
		t.Errorf("there are %d Jobs", len(names))
	}
}

// A task that waits for admission has no objects in the cluster that a stop would have to look
// up.
func TestATaskThatWaitsStopsAtOnce(t *testing.T) {
	w := newTestCluster(t)
	w.limit(1, 0)
	w.watch()
	w.run()
	w.appendAlone(of("ann", "a", 1))
	w.await("a", "Job", func(v task.View) bool { return v.UIDs != nil })
	w.appendAlone(of("ann", "b", 3))
	w.appendAlone(of("ann", "c", 1))
	w.calls()
	w.stop("c")
	w.await("c", "end", func(v task.View) bool { return v.CleanedUp })
	if calls := w.calls(); slices.ContainsFunc(calls, func(c string) bool { return !strings.HasSuffix(c, "-a") }) {
		t.Errorf("calls %q", calls)
	}
}

// An interrupted log runs a function before it appends its next entry.
type interrupted struct {
	*memlog.Log
	before func()
}

func (l *interrupted) Append(ctx context.Context, c task.Command) (task.Result, error) {
	before := l.before
	l.before = func() {}
	before()
	return l.Log.Append(ctx, c)
}

// A leader that was paused after its decision does not exceed the limits together with tasks
// that the next leader has admitted.
func TestTwoLeadersStayBelowTheLimitTogether(t *testing.T) {
	w := newTestCluster(t)
	w.limit(2, 0)
	w.appendAlone(of("ann", "a1", 1), of("ann", "a2", 1))
	former := New(w.cluster, namespace, w.store, &interrupted{w.log, func() {
		urgent := of("ann", "a3", 1)
		urgent.Submit.Task.Resources.Priority = 5
		w.appendAlone(urgent)
		if got := w.admission(); got != "a1 a3" {
			t.Errorf("the next leader admits %q", got)
		}
	}}, Config{})
	former.admitNext(t.Context(), former.store.Admission)
	if got := w.admission(); got != "a1 a3" {
		t.Errorf("both together admit %q", got)
	}
}

// Retained Jobs of finished tasks count towards the limits. While other tasks wait, no more of
// them than necessary are deleted early, the oldest first.
func TestFinishedJobsAreEvicted(t *testing.T) {
	w := newTestCluster(t)
	w.limit(3, 0)
	w.watch()
	w.run()
	for _, id := range []string{"a1", "a2", "a3"} {
		w.appendAlone(of("ann", id, 1))
		v := w.await(id, "Job", func(v task.View) bool { return v.UIDs != nil && v.Jobs[0] != nil })
		w.change(v.Jobs[0].Name, over(batchv1.JobComplete))
		w.await(id, "end", func(v task.View) bool { return v.Phase.Over() })
	}
	w.appendAlone(of("bob", "b1", 2))
	w.await("b1", "Jobs", func(v task.View) bool { return v.UIDs != nil })
	for id, gone := range map[string]bool{"a1": true, "a2": true, "a3": false} {
		if r := w.record(id); r.CleanedUp != gone || r.Phase != task.Completed {
			t.Errorf("task %s is %s, gone: %t", id, r.Phase, r.CleanedUp)
		}
	}
}

// A server is a controller with a store of its own.
type server struct {
	*testCluster
	end func()
}

// server starts another server.
func (w *testCluster) server(l task.AdmissionLimits) *server {
	w.t.Helper()
	next := *w
	next.store = cache.New()
	next.store.SetAdmissionLimits(l)
	next.Controller = New(w.cluster, namespace, next.store, w.log, Config{Workers: 4})
	next.retryDeletionsAfter(0)
	next.window = 3
	next.store.OnChange(next.Enqueue)
	must.Succeed(w.t, w.log.Join(next.store))
	next.watch()
	stop := must.Run(w.t, next.Run)
	return &server{&next, func() { _ = stop() }}
}

// There are never more Jobs than the limit, and every task gets its turn, whichever
// controllers crash and however many run at once.
func TestThereAreNeverMoreJobsThanTheLimit(t *testing.T) {
	const total, perUser, tasks = 6, 5, 21
	w := newTestCluster(t)
	limits := task.AdmissionLimits{JobLimits: task.JobLimits{Total: total, PerUser: perUser}}
	w.store.SetAdmissionLimits(limits)
	var created atomic.Int64
	w.cluster.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list, err := w.cluster.Tracker().List(a.GetResource(), batchv1.SchemeGroupVersion.WithKind("Job"), namespace)
		if err != nil {
			return true, nil, err
		}
		all, name := list.(*batchv1.JobList).Items, a.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName()
		if slices.ContainsFunc(all, func(j batchv1.Job) bool { return j.Name == name }) {
			return false, nil, nil // the tracker rejects it
		}
		if created.Add(1); len(all) >= total {
			t.Errorf("job %s is created beside %d", name, len(all))
		}
		return false, nil, nil
	})
	first, second := w.server(limits), w.server(limits)
	nodes := 0
	for n := range tasks {
		nodes += 1 + n%5
		w.appendAlone(of([]string{"ann", "bob", "cid"}[n%3], fmt.Sprint("t", n), 1+n%5))
	}
	restarts := []func(){first.end, func() { first = w.server(limits) }, second.end, first.end, func() { w.server(limits) }}
	for n := range tasks {
		id := fmt.Sprint("t", n)
		if n%4 == 3 && len(restarts) > 0 {
			restarts[0]()
			restarts = restarts[1:]
		}
		w.finishUntil(id)
	}
	if n := created.Load(); n < int64(nodes) {
		t.Errorf("%d Jobs were created for %d nodes", n, nodes)
	}
}

// finishUntil ends all existing Jobs repeatedly, until a task is over.
func (w *testCluster) finishUntil(id string) {
	w.t.Helper()
	w.awaitStore("end of task "+id, func() (string, bool) {
		v := w.store.TaskView(id)
		if v.Phase.Over() {
			return "", true
		}
		for name, job := range w.jobsByName() {
			if len(job.Status.Conditions) > 0 {
				continue
			}
			over(batchv1.JobComplete)(&job)
			_, err := w.cluster.BatchV1().Jobs(namespace).UpdateStatus(w.t.Context(), &job, metav1.UpdateOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				w.t.Fatalf("end job %s: %v", name, err)
			}
		}
		return fmt.Sprintf("%+v", v), false
	})
}
