package eventring

import (
	"testing"

	"k8s-cli/pkg/task"
)

func placed(seq uint64, n int) task.Event {
	return task.Event{ID: task.EventID{Seq: seq, N: n}}
}

// hears returns the events of a ring from a cursor on.
func hears(t *testing.T, p *Ring, cursor uint64) (text string) {
	t.Helper()
	for {
		events, next, _, _, ok := p.Events(cursor, 2)
		if !ok {
			return text + "forgotten"
		}
		if len(events) == 0 {
			return text
		}
		for _, e := range events {
			text += e.ID.String() + " "
		}
		cursor = next
	}
}

func TestWhereAReaderOfEventsBegins(t *testing.T) {
	p := &Ring{}
	p.Reset(0, task.EventID{})
	p.Add(1)
	p.Add(2, placed(2, 1), placed(2, 2))
	p.Add(0, task.Event{}) // an event that only the cluster shows
	p.Add(5, placed(5, 1))
	p.Add(6)
	for _, tt := range []struct {
		after task.EventID
		want  string
	}{
		{task.EventID{}, "2.1 2.2 0.0 5.1 "},
		{task.EventID{Seq: 2}, "2.1 2.2 0.0 5.1 "},
		{task.EventID{Seq: 2, N: 1}, "2.2 0.0 5.1 "},
		{task.EventID{Seq: 2, N: 2}, "0.0 5.1 "},
		{task.EventID{Seq: 4, N: 9}, "0.0 5.1 "},
		{task.EventID{Seq: 5, N: 1}, ""},
		{task.EventID{Seq: 99}, ""},
	} {
		cursor, ok := p.EventsAfter(tt.after)
		if got := hears(t, p, cursor); got != tt.want || !ok {
			t.Errorf("behind %s: %s, %v, want %s", tt.after, got, ok, tt.want)
		}
	}
	if cursor, at := p.EventsNow(); hears(t, p, cursor) != "" || at != (task.EventID{Seq: 7}) {
		t.Errorf("now is %s, at %s", hears(t, p, cursor), at)
	}
}

func TestResetRingReportsMissingEvents(t *testing.T) {
	p := &Ring{}
	p.Reset(0, task.EventID{})
	p.Add(2, placed(2, 1))
	before, _ := p.EventsAfter(task.EventID{})
	p.Reset(9, task.EventID{Seq: 7, N: 2})
	p.Add(10, placed(10, 1))
	if got := hears(t, p, before); got != "forgotten" {
		t.Errorf("a reader of before goes on with %s", got)
	}
	for after, known := range map[task.EventID]bool{{}: false, {Seq: 7, N: 1}: false, {Seq: 7, N: 2}: true, {Seq: 8}: true, {Seq: 10, N: 1}: true} {
		if _, ok := p.EventsAfter(after); ok != known {
			t.Errorf("all behind %s is known: %v, want %v", after, ok, known)
		}
	}
}

// A ring holds a bounded number of events, and a reader of dropped events gets ok false.
func TestARingIsBounded(t *testing.T) {
	p := &Ring{}
	p.Reset(0, task.EventID{})
	big := placed(0, 0)
	big.Nodes = make([]task.EventNode, 800)
	for i := range uint64(4 * ringSize) {
		e := placed(i+1, 1)
		if i%1000 == 0 {
			e.Nodes = big.Nodes
		}
		p.Add(i+1, e)
		if p.weight > 2*ringSize {
			t.Fatalf("%d events weigh %d", p.endIndex()-p.first, p.weight)
		}
	}
	if n := p.endIndex() - p.first; n < ringSize/2 || len(p.chunks)*chunkSize > 2*ringSize {
		t.Errorf("it keeps %d events, with room for %d", n, len(p.chunks)*chunkSize)
	}
	first := p.at(p.first).ID
	if _, ok := p.EventsAfter(task.EventID{Seq: first.Seq - 1, N: 1}); !ok {
		t.Errorf("it holds %s and what follows, and does not know it", first)
	}
	if _, ok := p.EventsAfter(task.EventID{Seq: first.Seq - 2, N: 1}); ok {
		t.Errorf("it begins with %s and takes that for all", first)
	}
	if got := hears(t, p, 0); got != "forgotten" {
		t.Errorf("a reader of the beginning hears %.40s", got)
	}
}

func TestAReaderIsWoken(t *testing.T) {
	p := &Ring{}
	p.Reset(0, task.EventID{})
	cursor, _ := p.EventsNow()
	_, _, _, more, _ := p.Events(cursor, 1)
	_, _, _, same, _ := p.Events(cursor, 1)
	p.Add(1, placed(1, 1))
	<-more
	<-same
	if got := hears(t, p, cursor); got != "1.1 " {
		t.Errorf("then it hears %s", got)
	}
}
