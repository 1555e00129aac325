package submit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func TestASubmissionBecomesAJob(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.must("a", "applied")
	job := w.jobsByName()["train-a"]
	if diff := cmp.Diff([]string{string(job.UID)}, w.record("a").UIDs); diff != "" || job.UID == "" {
		t.Errorf("UIDs (-cluster +record):\n%s", diff)
	}
	w.calls()
	w.cluster.ClearActions()
	w.must("a")
	if calls := w.calls(); slices.ContainsFunc(calls, func(c string) bool { return c != "get train-a" }) {
		t.Errorf("once it is applied the controller calls %q", calls)
	}
}

func TestAJobThatExistsAlready(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*batchv1.Job) // changes a Job that the controller would create
		facts  []string
		reason string
		err    error
	}{
		{"ours, created by a controller that died", func(*batchv1.Job) {}, []string{"applied"}, "", nil},
		{"ours, with other defaults", func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "other" }, []string{"applied"}, "", nil},
		{"ours, being deleted", func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"wait"}
		}, []string{"blocked"}, "Terminating", errDeleting},
		{"of another submission", func(j *batchv1.Job) { j.Annotations[task.AnnotationSubmission] = "other" }, []string{"rejected"}, "NameTaken", nil},
		{"of another user", func(j *batchv1.Job) { j.Annotations[task.AnnotationUser] = "Ann" }, []string{"rejected"}, "NameTaken", nil},
		{"of somebody else", func(j *batchv1.Job) { j.Annotations, j.Labels = nil, nil }, []string{"rejected"}, "NameTaken", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			job := jobsOf(w.submit("a", 1))[0]
			tt.before(job)
			w.place(job)
			facts, err := w.step("a")
			if !slices.Equal(facts, tt.facts) || !errors.Is(err, tt.err) || w.record("a").Reason != tt.reason {
				t.Errorf("facts %q, reason %q, error %v", facts, w.record("a").Reason, err)
			}
			w.wantJobs(1)
		})
	}
}

func TestAJobOfSomebodyElseSurvivesTheRefusal(t *testing.T) {
	w := newTestCluster(t)
	w.place(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train-a", Namespace: namespace}})
	w.submit("a", 1)
	w.must("a", "rejected")
	w.must("a", "cleaned_up")
	if _, ok := w.jobsByName()["train-a"]; !ok {
		t.Error("it was deleted")
	}
}

func TestAJobIsCreatedOnceItsFormerOneIsGone(t *testing.T) {
	w := newTestCluster(t)
	job := jobsOf(w.submit("a", 1))[0]
	job.DeletionTimestamp, job.Finalizers = new(metav1.Now()), []string{"wait"}
	w.place(job)
	for range 3 { // the reason is recorded once
		if _, err := w.step("a"); !errors.Is(err, errDeleting) {
			t.Fatalf("error %v", err)
		}
	}
	w.remove(job.Name)
	w.must("a", "applied")
	if r := w.record("a"); r.Reason != "" || r.UIDs[0] == string(job.UID) {
		t.Errorf("reason %q, UIDs %q", r.Reason, r.UIDs)
	}
}

// After a broken connection the controller does not know whether the Job was created.
func TestCreationWithoutAResponse(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	lost := false
	w.cluster.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if lost {
			return false, nil, nil
		}
		lost = true
		job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job).DeepCopy()
		w.place(job)
		return true, nil, errors.New("connection reset by peer")
	})
	w.mustFail("a", nil, "blocked")
	w.must("a", "applied")
	w.wantJobs(1)
}

func TestClassifyErrorsOfTheAPIServer(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
	}
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	for _, tt := range []struct {
		name    string
		err     error
		reason  string
		forGood bool
	}{
		{"400", apierrors.NewBadRequest("no"), "BadRequest", true},
		{"413", apierrors.NewRequestEntityTooLargeError("no"), "RequestEntityTooLarge", true},
		{"422", apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "a", nil), "Invalid", true},
		{"403 by policy", apierrors.NewForbidden(jobs, "a", errors.New("not you")), "Forbidden", true},
		{"403 by quota", apierrors.NewForbidden(jobs, "a", errors.New("exceeded quota: compute")), "QuotaExceeded", false},
		{"403 in a namespace that goes", terminating, "NamespaceTerminating", false},
		{"404 of the namespace", apierrors.NewNotFound(jobs, "default"), "NotFound", false},
		{"401", apierrors.NewUnauthorized("who"), "Unauthorized", false},
		{"409", apierrors.NewConflict(jobs, "a", errors.New("busy")), "Conflict", false},
		{"429", apierrors.NewTooManyRequestsError("slow down"), "TooManyRequests", false},
		{"500", apierrors.NewInternalError(errors.New("oops")), "InternalError", false},
		{"500 of a webhook", status(500, metav1.StatusReasonInternalError, "failed calling webhook"), "InternalError", false},
		{"503", apierrors.NewServiceUnavailable("later"), "ServiceUnavailable", false},
		{"504", apierrors.NewTimeoutError("slow", 1), "Timeout", false},
		{"no answer", errors.New("connection refused"), "APIServerUnavailable", false},
		{"somebody else's name", errForeign, "NameTaken", true},
		{"a former object", errDeleting, "Terminating", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reason, forGood := classify(fmt.Errorf("create job a: %w", tt.err))
			if reason != tt.reason || forGood != tt.forGood {
				t.Errorf("reason %q, for good: %v", reason, forGood)
			}
		})
	}
}

func TestARefusalLeavesNothingBehind(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 3)
	invalid := apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "train-a-node-2", nil)
	w.cluster.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := a.(clienttesting.CreateAction).GetObject().(metav1.Object).GetName()
		return name == "train-a-node-2", nil, invalid
	})
	w.must("a", "rejected")
	if r := w.record("a"); r.Phase != task.Failed || r.Reason != "Invalid" || r.Message != "create job train-a-node-2: "+invalid.Error() {
		t.Errorf("record %+v", r)
	}
	w.mustFail("a", errDeletionPending)
	w.must("a", "cleaned_up")
	w.wantJobs(0)
	w.calls()
	w.must("a")
	w.mustCall()
}

func TestAnExceededQuotaIsWaitedFor(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.failing("create", "jobs", 2, apierrors.NewForbidden(jobs, "train-a", errors.New("exceeded quota: compute, used: 7")))
	w.mustFail("a", nil, "blocked")
	if r := w.record("a"); r.Phase != task.Pending || r.Reason != "QuotaExceeded" {
		t.Errorf("record %+v", r)
	}
	w.mustFail("a", nil)
	w.must("a", "applied")
	if r := w.record("a"); r.Reason != "" {
		t.Errorf("reason %q", r.Reason)
	}
}

func TestNothingIsDoneWhileTheLogsEndIsUnknown(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.place(jobsOf(w.submit("b", 1))...)
	w.stop("b")
	w.log.Unknown = true
	for _, id := range []string{"a", "b"} {
		if facts, err := w.step(id); err == nil || len(facts) != 0 {
			t.Errorf("%s: facts %q, error %v", id, facts, err)
		}
	}
	w.mustCall()
}

func TestATaskWaitsForItsVolumes(t *testing.T) {
	w := newTestCluster(t)
	w.watch()
	w.append(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Task: task.Spec{
		Name: "train", Run: "true", Volumes: map[string]string{"/data": "data"},
	}}})
	w.must("a")
	w.wantJobs(0)
	w.append(task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi"}}})
	must.Succeed(t, w.reconcileKey(volumeKey("v")))
	w.log.Facts()
	w.must("a", "resolved")
	w.must("a", "applied")
	volumes := w.jobsByName()["train-a"].Spec.Template.Spec.Volumes
	if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "data-v"
	}) {
		t.Errorf("volumes %+v", volumes)
	}
}

func (w *testCluster) reconcileKey(k task.Key) error {
	_, err := w.reconcile(w.t.Context(), k)
	return err
}

func TestRunReconcilesOldAndNewTasks(t *testing.T) {
	w := newTestCluster(t)
	w.submit("before", 1)
	w.watch()
	w.failing("create", "jobs", 5, apierrors.NewTooManyRequestsError("slow down"))
	w.run()
	w.await("before", "UID", func(v task.View) bool { return v.UIDs != nil })
	w.submit("after", 2)
	w.await("after", "UIDs", func(v task.View) bool { return v.UIDs != nil })
	w.stop("after")
	w.await("after", "end", func(v task.View) bool { return v.CleanedUp })
	w.wantJobs(1)
}
