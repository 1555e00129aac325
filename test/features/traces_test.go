package features

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A span is a span as the collector received it.
type span struct{ service, name, trace, id, parent string }

// A spans is a collector of OTLP/HTTP.
type spans struct {
	*httptest.Server
	mu  sync.Mutex
	all []span
}

func collect(t *testing.T) *spans {
	t.Helper()
	s := &spans{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = unpacked
		}
		raw, err := io.ReadAll(body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(raw, &sent)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		s.take(&sent)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *spans) take(sent *collector.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range sent.GetResourceSpans() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, one := range scope.GetSpans() {
				s.all = append(s.all, span{service, one.GetName(), hex.EncodeToString(one.GetTraceId()), hex.EncodeToString(one.GetSpanId()), hex.EncodeToString(one.GetParentSpanId())})
			}
		}
	}
}

// has reports whether the collector received this span.
func (s *spans) has(service, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all, func(one span) bool { return one.service == service && one.name == name })
}

// path returns the names of the spans of a trace from its root to the first span with this
// name. path returns nil if this span or one of its ancestors is missing.
func (s *spans) path(trace, name string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byID, at := map[string]span{}, span{}
	for _, one := range s.all {
		byID[one.id] = one
		if one.trace == trace && one.name == name {
			at = one
		}
	}
	for at.id != "" {
		names = append([]string{at.service + ": " + at.name}, names...)
		if at.parent == "" {
			return names
		}
		at = byID[at.parent]
	}
	return nil
}

// A submission is one trace, from the command line to the Job, whose annotation names the
// trace.
func TestSubmissionIsOneTrace(t *testing.T) {
	t.Parallel()
	c, to := join(t), collect(t)
	settings := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + to.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
	s := (&server{cluster: c, env: settings}).serve(t)
	ann := s.as(t, "ann")
	ann.login(t)
	must.Write(t, filepath.Join(ann.home, "task.yaml"), "num_nodes: 2\nrun: sleep 1000\n")
	submit := ann.prepare(t, "jobs", "submit", "-d", "task.yaml")
	submit.Env = append(submit.Env, settings...)
	submit.start(t)
	if r := submit.end(t); r.code != 0 {
		t.Fatalf("submit: %+v", r)
	}
	id := ann.tasks(t)[0]
	trace := ""
	for _, job := range s.awaitJobs(t, id, 2) {
		got := job.Annotations[task.AnnotationTrace]
		if trace = got; len(trace) != 32 {
			t.Errorf("Job %s names the trace %q", job.Name, got)
		}
	}
	want := []string{"k8s-cli: k8s-cli jobs submit", "k8s-cli: POST", "k8s-cli-server: POST /tasks/submit", "k8s-cli-server: apply task", "k8s-cli-server: create job"}
	eventually(t, "one trace", func() (string, bool) {
		got := to.path(trace, "create job")
		return cmp.Diff(want, got), cmp.Equal(want, got)
	})
	if said := s.process.Said(); !strings.Contains(said, "command=submit id="+id) || !strings.Contains(said, "trace="+trace) {
		t.Errorf("the audit line does not name the trace %s: %s", trace, said)
	}
	other := ann.submit(t, "run: sleep 1000") // its client does not trace
	if job := s.awaitJobs(t, other, 1)[0]; job.Annotations[task.AnnotationTrace] == trace || len(job.Annotations[task.AnnotationTrace]) != 32 {
		t.Errorf("a submission without a trace has %q, want one that the server began", job.Annotations[task.AnnotationTrace])
	}
}
