package convert

import (
	"bytes"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// For arbitrary Jobs and pods, the fields that a listwatch client removes make no difference
// to their records.
func TestPrunedObjectsGiveEqualRecords(t *testing.T) {
	count := 400
	if testing.Short() {
		count /= 10
	}
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs).NumElements(1, 3) //nolint:gosec // no secret
	jobs := &batchv1.JobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}, Items: make([]batchv1.Job, count)}
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: make([]corev1.Pod, count)}
	wantJobs, wantPods := make([]*task.Job, count), make([]*Pod, count)
	for i := range count {
		j, p := &jobs.Items[i], &pods.Items[i]
		fill.Fill(j)
		fill.Fill(p)
		ours := map[string]string{task.LabelTask: "true", task.LabelTaskID: fmt.Sprint("task", i), task.LabelNode: fmt.Sprint(i % 3)}
		j.TypeMeta, p.TypeMeta, j.Labels, p.Labels = metav1.TypeMeta{}, metav1.TypeMeta{}, ours, ours
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
		for k := range j.Status.Conditions {
			j.Status.Conditions[k].Type, j.Status.Conditions[k].Status = [...]batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete}[i%2], corev1.ConditionTrue
		}
		if i%2 == 0 { // a pod without a node
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
			p.Status.Reason, p.Status.ContainerStatuses, p.Status.InitContainerStatuses = "", nil, nil
			p.Spec.NodeName = ""
		}
		if i%8 == 0 { // a pod that its scheduler has not reported on
			p.Status.Conditions = nil
		}
		for k := range p.Status.ContainerStatuses {
			if s := p.Status.ContainerStatuses[k].State.Waiting; s != nil && i%4 == 1 {
				s.Reason, s.Message = creating, ""
			}
			if s := p.Status.ContainerStatuses[k].State.Terminated; s != nil && i%4 == 3 {
				s.Reason = "OOMKilled"
			}
		}
		wantJobs[i], wantPods[i] = JobRecord(through(t, j).(*batchv1.Job)), PodRecord(through(t, p).(*corev1.Pod))
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		if strings.Contains(r.URL.Path, "/pods") {
			_, _ = w.Write(encoded(t, pods))
		} else {
			_, _ = w.Write(encoded(t, jobs))
		}
	}))
	t.Cleanup(api.Close)
	client, err := listwatch.NewForConfig(&rest.Config{Host: api.URL})
	must.Succeed(t, err)
	var gotJobs []*task.Job
	if _, err := client.Jobs("default").List(t.Context(), metav1.ListOptions{}, func(j *batchv1.Job) { gotJobs = append(gotJobs, JobRecord(j)) }); err != nil {
		t.Fatal(err)
	}
	var gotPods []*Pod
	if _, err := client.Pods("default").List(t.Context(), metav1.ListOptions{}, func(p *corev1.Pod) { gotPods = append(gotPods, PodRecord(p)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantJobs, gotJobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantPods, gotPods, cmp.AllowUnexported(Pod{}, nodefit.Requirements{})); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	suspended, failed, wait := 0, 0, 0
	for _, j := range wantJobs {
		if j.Suspended {
			suspended++
		}
		if j.Phase == task.Failed && j.Reason != "" {
			failed++
		}
	}
	for _, p := range wantPods {
		if p.Requirements != nil && !cmp.Equal(*p.Requirements, nodefit.Requirements{}, cmp.AllowUnexported(nodefit.Requirements{}), cmpopts.EquateEmpty()) {
			wait++
		}
	}
	if suspended < count/10 || failed < count/10 || wait < count/10 {
		t.Errorf("only %d Jobs are suspended, %d failed, and %d pods ask a node for something", suspended, failed, wait)
	}
}

func encoded(t *testing.T, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b))
	return b.Bytes()
}

// through returns an object after encoding and decoding without pruning.
func through(t *testing.T, o runtime.Object) runtime.Object {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	must.Succeed(t, err)
	got, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(encoded(t, o), &kinds[0], nil)
	must.Succeed(t, err)
	return got
}
