package samples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/task"
)

// A scene is a leader, and another server that receives the messages of the leader.
type scene struct {
	views         map[string]task.View
	leader, other *Samples
	*Sampler

	pods  []PodMetrics // that the cluster shows
	err   error
	lists int
	sent  int
	log   bytes.Buffer
}

func newScene(views map[string]task.View) *scene {
	s := &scene{views: views}
	view := func(id string) task.View { return s.views[id] }
	s.leader, s.other = New(view), New(view)
	list := func(context.Context) ([]PodMetrics, error) {
		s.lists++
		return s.pods, s.err
	}
	send := func(message []byte) error {
		s.sent++
		s.leader.Receive(message)
		s.other.Receive(message)
		return nil
	}
	s.Sampler = NewSampler(s.leader, list, send, slog.New(slog.NewTextHandler(&s.log, nil)))
	return s
}

// running returns a task with these pods, one for each node.
func running(id string, pods ...string) task.View {
	v := task.View{Record: &task.Record{Submit: task.Submit{ID: id}, Phase: task.Running}}
	for _, name := range pods {
		v.Pods = append(v.Pods, &task.Pod{Name: name})
	}
	return v
}

func second(n int) time.Time { return time.Date(2026, 11, 23, 10, 0, n, 0, time.UTC) }

// metrics returns the metrics of a pod with one container for each use, such as 250m,64Mi.
func metrics(id, pod string, n int, uses ...string) PodMetrics {
	p := PodMetrics{Timestamp: second(n)}
	p.Metadata.Name, p.Metadata.Labels = pod, map[string]string{task.LabelTaskID: id}
	for _, use := range uses {
		cpu, memory, _ := strings.Cut(use, ",")
		p.Containers = append(p.Containers, struct {
			Usage corev1.ResourceList `json:"usage"`
		}{corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}})
	}
	return p
}

func (s *scene) round(ctx context.Context, pods ...PodMetrics) {
	s.pods = pods
	all, _ := s.sample(ctx)
	s.publish(all)
}

func TestSamplesReachEveryServer(t *testing.T) {
	s := newScene(map[string]task.View{"a": running("a", "a-0", "a-1"), "b": running("b", "b-0")})
	s.round(t.Context(), metrics("a", "a-0", 1, "250m,64Mi", "1500001n,1Mi"), metrics("a", "a-1", 2, "2,1Gi"), metrics("b", "b-0", 3, "1,1Gi"),
		metrics("a", "forged", 1, "9,9Gi"), metrics("gone", "x-0", 1, "9,9Gi"))
	s.round(t.Context(), metrics("a", "a-0", 31, "100m,128Mi"))
	want := []Sample{
		{"a", 0, second(31), task.Amounts{CPUs: 0.1, Memory: 128 << 20}, task.Amounts{CPUs: 0.252, Memory: 128 << 20}},
		{"a", 1, second(2), task.Amounts{CPUs: 2, Memory: 1 << 30}, task.Amounts{CPUs: 2, Memory: 1 << 30}},
	}
	for name, one := range map[string]*Samples{"the leader": s.leader, "the other server": s.other} {
		if got := one.Of("a"); !cmp.Equal(got, want) || one.Problem() != "" || len(one.Of("gone")) > 0 {
			t.Errorf("%s has %s, problem %q", name, cmp.Diff(want, got), one.Problem())
		}
	}

	end := &task.Ended{ID: "a", Nodes: make([]task.Node, 1)}
	s.other.AddMax(end)
	if got := end.Nodes[0].MaxUsed; got == nil || *got != want[0].Max {
		t.Errorf("the fact has %+v", got)
	}
	over := running("a")
	over.Record.Phase = task.Completed
	s.views["a"] = over
	s.other.Receive([]byte("{}"))
	if len(s.other.Of("a")) > 0 || len(s.other.Of("b")) != 1 {
		t.Errorf("after the end of a: %+v", s.other.tasks)
	}
}

// The next leader continues with the maxima that it has received, and so does a server that starts.
func TestTheNextLeaderContinuesWithTheMaximum(t *testing.T) {
	first := newScene(map[string]task.View{"a": running("a", "a-0")})
	first.round(t.Context(), metrics("a", "a-0", 1, "4,8Gi"))
	next := newScene(first.views)
	next.leader = first.other
	next.samples = first.other
	next.round(t.Context(), metrics("a", "a-0", 31, "1,1Gi"))
	want := []Sample{{"a", 0, second(31), task.Amounts{CPUs: 1, Memory: 1 << 30}, task.Amounts{CPUs: 4, Memory: 8 << 30}}}
	if got := next.other.Of("a"); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestManySamplesAreInSeveralMessages(t *testing.T) {
	s := newScene(map[string]task.View{"a": running("a")})
	all := make([]Sample, 2*samplesPerMessage+1)
	for i := range all {
		all[i] = Sample{TaskID: "a", Rank: i}
	}
	s.publish(all[:samplesPerMessage])
	s.publish(all)
	if got := len(s.other.Of("a")); s.sent != 4 || got != len(all) {
		t.Errorf("%d messages, %d samples", s.sent, got)
	}
}

func TestProblems(t *testing.T) {
	pods := schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"}
	for _, tt := range []struct {
		err     error
		problem string
		lists   int // in 10 minutes
		level   string
	}{
		{apierrors.NewNotFound(pods, ""), "The cluster has no metrics API; install metrics-server", 2, "INFO"},
		{apierrors.NewForbidden(pods, "", nil), "The server may not read the metrics API; grant its service account the right to list pods.metrics.k8s.io", 2, "INFO"},
		{errors.New("connection refused"), "The server cannot read the metrics API of the cluster; the log of the server has the reason", 20, "WARN"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(map[string]task.View{"a": running("a", "a-0")})
			if got := s.other.Problem(); !strings.HasPrefix(got, "This server has received no samples yet") {
				t.Errorf("before the first message: %q", got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute-time.Second)
			defer cancel()
			s.err = tt.err
			_ = s.Run(ctx)
			if got := s.other.Problem(); got != tt.problem || s.lists != tt.lists || s.sent != 20 {
				t.Errorf("%v: %q after %d lists and %d messages", tt.err, got, s.lists, s.sent)
			}
			if n := strings.Count(s.log.String(), "no samples"); n != 1 || !strings.Contains(s.log.String(), "level="+tt.level) {
				t.Errorf("%v: the log is\n%s", tt.err, &s.log)
			}
			s.err = nil
			s.round(t.Context(), metrics("a", "a-0", 1, "1,1Gi"))
			if got := s.other.Problem(); got != "" || len(s.other.Of("a")) != 1 {
				t.Errorf("%v: afterwards: %q, %+v", tt.err, got, s.other.Of("a"))
			}
			time.Sleep(maxSilence + time.Second)
			if got := s.other.Problem(); !strings.HasPrefix(got, "The samples are old: the leader has sent none since ") {
				t.Errorf("without a leader: %q", got)
			}
		})
	}
}

func TestOneRequestListsAllPods(t *testing.T) {
	code, requests := http.StatusOK, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method+" "+r.URL.String()+" "+r.Header.Get("Accept"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[{"metadata":{"name":"a-0","creationTimestamp":"2026-11-23T10:00:02Z","labels":{"task-id":"a"}},`+
			`"timestamp":"2026-11-23T10:00:01Z","window":"10s","containers":[{"name":"task","usage":{"cpu":"250m","memory":"64Mi"}}]}]}`)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}})
	if err != nil {
		t.Fatal(err)
	}
	list := NewLister(client.CoreV1().RESTClient(), "tasks")
	got, err := list(t.Context())
	if err != nil || len(got) != 1 || got[0].Metadata.Name != "a-0" || got[0].Metadata.Labels[task.LabelTaskID] != "a" || !got[0].Timestamp.Equal(second(1)) ||
		got[0].used() != (task.Amounts{CPUs: 0.25, Memory: 64 << 20}) {
		t.Errorf("%+v, %v", got, err)
	}
	if want := []string{"GET /apis/metrics.k8s.io/v1beta1/namespaces/tasks/pods?labelSelector=skypilot-task%3Dtrue application/json"}; !cmp.Equal(requests, want) {
		t.Error(cmp.Diff(want, requests))
	}
	code = http.StatusNotFound
	if _, err := list(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("without a metrics API: %v", err)
	}
}
