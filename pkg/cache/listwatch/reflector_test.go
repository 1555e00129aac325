package listwatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"k8s-cli/test/testkit/must"
)

// A record is the record of a Job in these tests.
type record struct{ name string }

// A mapSink holds records by name.
type mapSink map[string]*record

func (s mapSink) Put(r *record)        { s[r.name] = r }
func (s mapSink) Drop(r *record)       { delete(s, r.name) }
func (s mapSink) Key(r *record) string { return r.name }
func (s mapSink) All() []*record       { return slices.Collect(maps.Values(s)) }

// kindOf returns a kind that ignores Jobs without a name.
func kindOf(sink Sink[record]) Kind[*batchv1.Job, record] {
	return Kind[*batchv1.Job, record]{Name: "jobs", Sink: sink, Record: func(j *batchv1.Job) *record {
		if j.Name == "" {
			return nil
		}
		return &record{j.Name}
	}}
}

func newJob(name string) *batchv1.Job { return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func TestADeletionThatTheWatchMissed(t *testing.T) {
	records := mapSink{}
	s := newReflectorStore(kindOf(records))
	for _, there := range [][]any{{newJob("a"), newJob("b")}, {newJob("b")}} {
		must.Succeed(t, s.Replace(there, "1"))
	}
	if records["a"] != nil || records["b"] == nil {
		t.Errorf("records %v", records)
	}
	if added, updated, deleted := s.counter.Added.Load(), s.counter.Updated.Load(), s.counter.Deleted.Load(); added != 2 || updated != 1 || deleted != 1 {
		t.Errorf("counted %d added, %d updated, %d deleted", added, updated, deleted)
	}
}

func TestUnknownObjectsAreIgnored(t *testing.T) {
	records := mapSink{}
	s := newReflectorStore(kindOf(records))
	for _, obj := range []any{&batchv1.Job{}, &recordObject[record]{}, &corev1.Pod{}, "text", nil} {
		for _, call := range []func(any) error{s.Add, s.Update, s.Delete, func(o any) error { return s.Replace([]any{o}, "1") }} {
			if err := call(obj); err != nil {
				t.Error(err)
			}
		}
	}
	if len(records) > 0 || s.counter.Added.Load()+s.counter.Updated.Load()+s.counter.Deleted.Load() > 0 {
		t.Errorf("taken: %v", records)
	}
}

func TestReflectorCountsChanges(t *testing.T) {
	s := newReflectorStore(kindOf(mapSink{}))
	j := newJob("a")
	for _, told := range []func(any) error{s.Add, s.Update, s.Update, s.Delete} {
		must.Succeed(t, told(j))
	}
	if added, updated, deleted := s.counter.Added.Load(), s.counter.Updated.Load(), s.counter.Deleted.Load(); added != 1 || updated != 2 || deleted != 1 {
		t.Errorf("counted %d added, %d updated, %d deleted", added, updated, deleted)
	}
}

// If a connection ends before the answer, client-go returns an empty watch after ten seconds
// of attempts.
func TestAnAPIServerThatOnlyClosesConnectionsIsAway(t *testing.T) {
	if why := checkAnswer(watch.NewEmptyWatch(), nil); !errors.Is(why, errNoAnswer) {
		t.Errorf("away because of %v", why)
	}
	if why := checkAnswer(watch.NewFake(), nil); why != nil {
		t.Errorf("a watch that begins: %v", why)
	}
	if why := checkAnswer(nil, context.DeadlineExceeded); !errors.Is(why, context.DeadlineExceeded) {
		t.Errorf("a watch that fails: %v", why)
	}
}

func TestTheAPIServerIsAway(t *testing.T) {
	p := &Health{}
	if age, err := p.Lag(); age != 0 || err != nil {
		t.Errorf("at first: %v, %v", age, err)
	}
	p.Observe(t.Context(), errors.New("connection refused"))
	if age, err := p.Lag(); age <= 0 || err == nil {
		t.Errorf("away: %v, %v", age, err)
	}
	since := p.since
	p.Observe(t.Context(), errors.New("still"))
	if !p.since.Equal(since) {
		t.Error("the outage begins anew with each failure")
	}
	p.Observe(t.Context(), nil)
	if age, err := p.Lag(); age != 0 || err != nil {
		t.Errorf("back: %v, %v", age, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.Observe(ended, context.Canceled)
	if _, err := p.Lag(); err != nil {
		t.Errorf("a watch that we ended: %v", err)
	}
}
