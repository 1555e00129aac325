package listwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"k8s-cli/test/testkit/must"
)

const namespace = "default"

// fullMeta returns metadata with and without the fields that are pruned.
func fullMeta(name string) (pruned, full metav1.ObjectMeta) {
	pruned = metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: "1-2-3", ResourceVersion: "77", Generation: 3,
		CreationTimestamp: metav1.Unix(5, 0), DeletionTimestamp: new(metav1.Unix(7, 0)),
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": strings.Repeat("d", 300)},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "owner", Controller: new(true)}},
	}
	full = pruned
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1("{}")}}
	return pruned, full
}

func fullJob(name string) (pruned, full batchv1.Job) {
	pruned.ObjectMeta, full.ObjectMeta = fullMeta(name)
	pruned.Spec = batchv1.JobSpec{Suspend: new(true), Parallelism: new(int32(2)), BackoffLimit: new(int32(0))}
	pruned.Status = batchv1.JobStatus{Active: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "r"}}}
	full.Spec, full.Status = pruned.Spec, pruned.Status
	_, p := fullPod("template")
	full.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	full.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"e": "f"}}
	full.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: "Ignore"}}}
	return pruned, full
}

func fullPod(name string) (pruned, full corev1.Pod) {
	pruned.ObjectMeta, full.ObjectMeta = fullMeta(name)
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	pruned.Spec = corev1.PodSpec{
		NodeName: "house-1", SchedulerName: "s", NodeSelector: map[string]string{"g": "h"}, Tolerations: []corev1.Toleration{{Key: "k"}},
		Containers: []corev1.Container{{Name: "task", Image: "image", Resources: corev1.ResourceRequirements{Limits: limits}}, {Name: "other"}},
	}
	pruned.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{Name: "task", Ready: true}}}
	full.Spec, full.Status = *pruned.Spec.DeepCopy(), pruned.Status
	c := &full.Spec.Containers[0]
	c.Command, c.Args = []string{"sh", "-c", strings.Repeat("x", 5000)}, []string{""}
	c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	c.EnvFrom = []corev1.EnvFromSource{{Prefix: "p"}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	full.Spec.Volumes = []corev1.Volume{{Name: "v"}}
	full.Spec.InitContainers = []corev1.Container{{Name: "first"}}
	return pruned, full
}

// encode returns an object as the API server encodes it.
func encode(t *testing.T, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b))
	return b.Bytes()
}

func jobList(items ...batchv1.Job) *batchv1.JobList {
	return &batchv1.JobList{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "99"}, Items: items,
	}
}

// serve returns a client of a server that answers with f.
func serve(t *testing.T, f http.HandlerFunc) *Client {
	t.Helper()
	api := httptest.NewUnstartedServer(f)
	api.EnableHTTP2 = true
	api.StartTLS()
	t.Cleanup(api.Close)
	c, err := NewForConfig(&rest.Config{
		Host: api.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
	})
	must.Succeed(t, err)
	return c
}

func answer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(body)
}

func TestListsArePruned(t *testing.T) {
	var jobs, wantJobs []batchv1.Job
	var pods, wantPods []corev1.Pod
	for i := range 300 { // more than readBuffer holds
		pruned, full := fullJob(fmt.Sprint("job-", i))
		jobs, wantJobs = append(jobs, full), append(wantJobs, pruned)
		keptPod, fullPod := fullPod(fmt.Sprint("pod-", i))
		pods, wantPods = append(pods, fullPod), append(wantPods, keptPod)
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.URL.Query().Get("labelSelector") != "a=b" || r.URL.Query().Has("limit") {
			t.Errorf("%s by %s", r.URL, r.Proto)
		}
		if strings.HasPrefix(r.URL.Path, "/apis/batch/v1/namespaces/default/jobs") {
			answer(w, encode(t, jobList(jobs...)))
		} else {
			answer(w, encode(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "98"}, Items: pods}))
		}
	})
	options := metav1.ListOptions{LabelSelector: "a=b", Limit: 500}
	var gotJobs []batchv1.Job
	about, err := c.Jobs(namespace).List(t.Context(), options, func(j *batchv1.Job) { gotJobs = append(gotJobs, *j) })
	if err != nil || about.ResourceVersion != "99" {
		t.Errorf("jobs: %+v, %v", about, err)
	}
	if diff := cmp.Diff(wantJobs, gotJobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	var gotPods []corev1.Pod
	about, err = c.Pods(namespace).List(t.Context(), options, func(p *corev1.Pod) { gotPods = append(gotPods, *p) })
	if err != nil || about.ResourceVersion != "98" {
		t.Errorf("pods: %+v, %v", about, err)
	}
	if diff := cmp.Diff(wantPods, gotPods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestWatchesArePruned(t *testing.T) {
	pruned, full := fullJob("job")
	full.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.URL.Query().Get("watch") != "true" {
			t.Errorf("%s by %s", r.URL, r.Proto)
		}
		event := &metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: encode(t, &full)}}
		raw, err := event.Marshal()
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
		_, _ = protobuf.LengthDelimitedFramer.NewFrameWriter(w).Write(raw)
	})
	w, err := c.Jobs(namespace).Watch(t.Context(), metav1.ListOptions{Watch: true})
	must.Succeed(t, err)
	defer w.Stop()
	got := <-w.ResultChan()
	if diff := cmp.Diff(watch.Event{Type: watch.Modified, Object: &pruned}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A response that is truncated at any position, or is not a list, gives an error.
func TestListsThatBreak(t *testing.T) {
	_, full := fullJob("job")
	whole := encode(t, jobList(full, full))
	read := func(body []byte) (n int, err error) {
		_, err = readList(bytes.NewReader(body), func([]byte) error { n++; return nil })
		return n, err
	}
	if n, err := read(whole); n != 2 || err != nil {
		t.Fatalf("the whole: %d, %v", n, err)
	}
	step := 1
	if testing.Short() {
		step = 10
	}
	for size := 0; size < len(whole); size += step {
		if n, err := read(whole[:size]); err == nil && size < len(whole)-4 { // the fields after the items are empty
			t.Fatalf("%d of %d bytes: %d objects and no error", size, len(whole), n)
		}
	}
	broken := errors.New("broken")
	if _, err := readList(bytes.NewReader(whole), func([]byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("an object that cannot be read: %v", err)
	}
	for _, body := range []string{"", "k8s", "k8s\x00", "{}", "k8s\x00\x10\x01", "k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, err := read([]byte(body)); err == nil {
			t.Errorf("%q is a list", body)
		}
	}
}

func TestAnswersThatAreNoLists(t *testing.T) {
	status := apierrors.NewForbidden(batchv1.Resource("jobs"), "", errors.New("no right")).Status()
	for name, f := range map[string]http.HandlerFunc{
		"is forbidden": func(w http.ResponseWriter, _ *http.Request) {
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(encode(t, &status))
		},
		"not valid Kubernetes protobuf": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"kind":"JobList"}`) },
		"unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "k8s\x00")
		},
	} {
		_, err := serve(t, f).Jobs(namespace).List(t.Context(), metav1.ListOptions{}, func(*batchv1.Job) {})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "is forbidden" && !apierrors.IsForbidden(err) {
			t.Errorf("%#v", err)
		}
	}
}

func TestAListThatStopsComing(t *testing.T) {
	for _, begin := range []string{"", "k8s\x00"} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if begin != "" {
				answer(w, []byte(begin))
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
		list := streamed[batchv1.Job](c.batch.lists, namespace, "jobs", jobMask, 20*time.Millisecond)
		_, err := list(t.Context(), metav1.ListOptions{}, func(*batchv1.Job) {})
		if err == nil || !strings.Contains(err.Error(), "received no data for 20ms") {
			t.Errorf("it ends with %v", err)
		}
	}
}

func TestSourceOfATypedClient(t *testing.T) {
	_, full := fullPod("pod")
	pods := fake.NewClientset(&full).CoreV1().Pods(namespace)
	var got []*corev1.Pod
	_, err := SourceOf[*corev1.Pod](pods.List, pods.Watch).List(t.Context(), metav1.ListOptions{}, func(p *corev1.Pod) { got = append(got, p) })
	if err != nil || len(got) != 1 || got[0].Name != "pod" {
		t.Errorf("%v, %v", got, err)
	}
	failed := errors.New("no")
	list := func(context.Context, metav1.ListOptions) (*corev1.PodList, error) { return nil, failed }
	if _, err := SourceOf[*corev1.Pod](list, pods.Watch).List(t.Context(), metav1.ListOptions{}, nil); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// Pruning removes only the named fields of a message, and leaves a message that cannot be
// parsed unchanged.
func TestPrune(t *testing.T) {
	pruned, full := fullPod("pod")
	full.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	other := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"a": "b"}}
	for _, same := range [][]byte{nil, []byte("{}"), []byte("k8s\x00\x12"), encode(t, other)} {
		if got := prune(same); !bytes.Equal(got, same) {
			t.Errorf("%q becomes %q", same, got)
		}
	}
	short := prune(encode(t, &full))
	pruned.TypeMeta = full.TypeMeta
	got, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(short, nil, nil)
	if diff := cmp.Diff(runtime.Object(&pruned), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	damaged := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	rounds := 20_000
	if testing.Short() {
		rounds /= 10
	}
	for range rounds {
		bad := bytes.Clone(short)
		for range 1 + damaged.IntN(3) {
			bad[damaged.IntN(len(bad))] = byte(damaged.IntN(256))
		}
		prune(bad) // must not panic
	}
}
