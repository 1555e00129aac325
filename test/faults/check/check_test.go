package check

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s-cli/test/faults/history"
)

// good returns a history without violations, to which each case adds one thing. User ann
// submits a task to s0, its Job completes, and both servers report that at rest.
func good() *history.History {
	done := history.Seen{ID: "t1", Name: "t-1", User: "ann", Phase: "completed", Created: "c1"}
	running := done
	running.Phase = "running"
	return &history.History{
		Ops: []history.Op{
			op(1, history.Op{Kind: history.Submit, Name: "t-1", Key: "k-1", Code: 200, Got: "t1"}),
			op(3, history.Op{Kind: history.Status, Pod: "s1", ID: "t1", Code: 200, Got: "t1", Seen: []history.Seen{running}}),
			op(5, history.Op{Kind: history.Status, Pod: "s1", ID: "t1", Code: 200, Got: "t1", Seen: []history.Seen{done}}),
			last("s0", done), last("s1", done),
			op(92, history.Op{Kind: history.Volumes, Code: 200, Wide: true, Last: true}),
		},
		Objects: []history.Object{
			job("ADDED", "u1", "t1", 10, 2), job("ENDED", "u1", "t1", 20, 4),
		},
		Audits:  []history.Audit{{Verb: "create", Resource: "jobs", Name: "t-1-t1", Agent: "k8s-cli-server"}},
		Left:    []history.Left{{Kind: "Job", Name: "t-1-t1", UID: "u1", ID: "t1", Rank: "0", Ended: true}, {Kind: "Pod", Name: "p", UID: "p", ID: "t1", Owner: "u1"}},
		Entries: []history.Entry{{Seq: 1, Log: "l"}, {Seq: 2, At: time.Second, Log: "l", Writer: "w", Number: 1, Commands: []history.Command{submitted("t1", "t-1")}}},
	}
}

// entry returns an entry of a writer of its own.
func entry(seq uint64, at time.Duration, commands ...history.Command) history.Entry {
	return history.Entry{Seq: seq, At: at, Log: "l", Writer: fmt.Sprint("w", seq), Number: 1, Commands: commands}
}

func submitted(id, name string) history.Command {
	return history.Command{Kind: history.Submit, ID: id, Name: name, User: "ann"}
}

// op returns an operation of ann on s0 that began at second t and took half a second.
func op(t time.Duration, o history.Op) history.Op {
	o.Begin, o.End = t*time.Second, t*time.Second+time.Second/2
	if o.User == "" {
		o.User = "ann"
	}
	if o.Pod == "" {
		o.Pod = "s0"
	}
	return o
}

func last(pod string, seen ...history.Seen) history.Op {
	return op(90, history.Op{Kind: history.List, User: "nobody", Pod: pod, Code: 200, Wide: true, Whole: true, Last: true, Seen: seen})
}

func job(event, uid, id string, version uint64, at time.Duration) history.Object {
	o := history.Object{
		Type: event, Kind: "Job", Name: "t-1-" + id, UID: uid, ID: id, Rank: "0", User: "ann", Ours: true, Version: version, At: at * time.Second,
	}
	if event == "ENDED" {
		o.Phase = "Complete"
	}
	return o
}

func stop(t time.Duration, id string) history.Op {
	return op(t, history.Op{Kind: history.Stop, ID: id, Code: 200, Got: id})
}

func status(t time.Duration, pod string, seen history.Seen) history.Op {
	return op(t, history.Op{Kind: history.Status, Pod: pod, ID: seen.ID, Code: 200, Got: seen.ID, Seen: []history.Seen{seen}})
}

func task(phase string) history.Seen {
	return history.Seen{ID: "t1", Name: "t-1", User: "ann", Phase: phase, Created: "c1"}
}

// rest replaces the tasks in the last lists of both servers.
func rest(h *history.History, seen ...history.Seen) {
	for i := range h.Ops {
		if h.Ops[i].Last && h.Ops[i].Kind == history.List {
			h.Ops[i].Seen = seen
		}
	}
}

type H = history.History

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*H)
		want   []Rule // nil: no violation
	}{
		{"nothing is wrong", func(*H) {}, nil},
		{"a task that was accepted is nowhere", func(h *H) { rest(h) }, []Rule{Lost, Orphan}},
		{"one server lacks a task", func(h *H) { h.Ops[4].Seen = nil }, []Rule{Diverged, Lost}},
		{"the log lacks what was accepted", func(h *H) { h.Entries[1].Commands = nil }, []Rule{Lost}},
		{"a purged beginning proves nothing", func(h *H) { h.Entries = h.Entries[1:]; h.Entries[0].Commands = nil }, nil},
		{"the log has a gap", func(h *H) { h.Entries[1].Seq = 3 }, []Rule{Log}},
		{"two logs in one", func(h *H) { h.Entries[1].Log = "m" }, []Rule{Log}},
		{"a submission in doubt may be a task", func(h *H) {
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Submit, Name: "t-2", Code: 0, Err: "EOF"}))
			rest(h, task("completed"), history.Seen{ID: "t2", Name: "t-2", User: "ann", Phase: "completed"})
		}, nil},
		{"or none", func(h *H) {
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Submit, Name: "t-2", Code: 503, Retry: true}))
		}, nil},
		{"a task that nobody submitted", func(h *H) {
			rest(h, task("completed"), history.Seen{ID: "t2", Name: "t-2", User: "ann", Phase: "completed"})
		}, []Rule{Phantom}},
		{"a submission gave two tasks", func(h *H) {
			rest(h, task("completed"), history.Seen{ID: "t2", Name: "t-1", User: "ann", Phase: "completed"})
		}, []Rule{Doubled}},
		{"one key gave two ids", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.Submit, Name: "t-1", Key: "k-1", Code: 200, Got: "t2"}))
			rest(h, task("completed"), history.Seen{ID: "t2", Name: "t-1", User: "ann", Phase: "completed"})
			h.Entries = append(h.Entries, entry(3, 2*time.Second, submitted("t2", "t-1")))
		}, []Rule{Doubled, Key}},
		{"a read does not find what was accepted", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.Status, ID: "t1", Code: 404}))
		}, []Rule{Invisible}},
		{"a read that began before may not find it", func(h *H) {
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Status, ID: "t1", Code: 404}))
		}, nil},
		{"a read that says the log is away may not find it", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.Status, ID: "t1", Code: 404, Stale: "log; age=1"}))
		}, nil},
		{"so may one of a volume", func(h *H) {
			v := history.Seen{ID: "v1", Name: "v-1", User: "ann"}
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Create, Name: "v-1", Code: 200, Got: "v1"}),
				op(2, history.Op{Kind: history.Volume, ID: "v1", Code: 404, Stale: "log; age=1"}),
				op(95, history.Op{Kind: history.Volumes, Code: 200, Wide: true, Last: true, Seen: []history.Seen{v}}),
				op(95, history.Op{Kind: history.Volumes, Pod: "s1", Code: 200, Wide: true, Last: true, Seen: []history.Seen{v}}))
		}, nil},
		{"a volume that was accepted is nowhere", func(h *H) {
			h.Ops = append([]history.Op{op(1, history.Op{Kind: history.Create, Name: "v-1", Code: 200, Got: "v1"})}, h.Ops...)
		}, []Rule{Lost}},
		{"a volume that was deleted is still there", func(h *H) {
			v := []history.Seen{{ID: "v1", Name: "v-1", User: "ann"}}
			h.Ops = append([]history.Op{
				op(1, history.Op{Kind: history.Create, Name: "v-1", Code: 200, Got: "v1"}), op(2, history.Op{Kind: history.Delete, ID: "v1", Code: 200, Got: "v1"}),
				op(3, history.Op{Kind: history.Volume, ID: "v1", Code: 200, Got: "v1", Seen: v}),
			}, h.Ops...)
		}, []Rule{Invisible}},
		{"a list lacks what was accepted", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.List, Code: 200, Whole: true}))
		}, []Rule{Invisible}},
		{"a list by name lacks what was accepted", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.List, Name: "t-1", Code: 200}))
		}, []Rule{Invisible}},
		{"a list that was cut may lack it", func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.List, Code: 200}))
		}, nil},
		{"a phase goes back on one pod", func(h *H) { h.Ops = append(h.Ops, status(4, "s1", task("pending"))) }, []Rule{Backward}},
		{"another pod may not know yet that it runs", func(h *H) { h.Ops = append(h.Ops, status(4, "s0", task("pending"))) }, nil},
		{"a task that was over runs on another pod", func(h *H) { h.Ops = append(h.Ops, status(6, "s0", task("running"))) }, []Rule{Backward}},
		{"a task ends twice", func(h *H) {
			h.Ops = append(h.Ops, stop(6, "t1"), status(7, "s0", task("stopped")))
		}, []Rule{Backward}},
		{"stopped before anybody asked", func(h *H) {
			h.Ops[2].Seen[0].Phase = "stopped"
			rest(h, task("stopped"))
			h.Objects = append(h.Objects, job("DELETED", "u1", "t1", 30, 8))
			h.Left = nil
			h.Ops = append(h.Ops, stop(7, "t1"))
		}, []Rule{Premature}},
		{"a stop is not seen", func(h *H) { h.Ops = append(h.Ops, stop(2, "t1")) }, []Rule{Invisible}},
		{"another user is shown a task", func(h *H) {
			o := status(6, "s0", task("completed"))
			o.User = "a-nn"
			h.Ops = append(h.Ops, o)
		}, []Rule{Crossed}},
		{"another user's list has a task", func(h *H) {
			h.Ops = append(h.Ops, op(6, history.Op{Kind: history.List, User: "a-nn", Code: 200, Seen: []history.Seen{task("completed")}}))
		}, []Rule{Crossed}},
		{"another user stops a task", func(h *H) {
			o := stop(6, "t1")
			o.User = "a-nn"
			h.Ops = append(h.Ops, o)
		}, []Rule{Crossed}},
		{"another user does not find a task", func(h *H) {
			h.Ops = append(h.Ops, op(6, history.Op{Kind: history.Status, User: "a-nn", ID: "t1", Code: 404}))
		}, nil},
		{"the creation moves", func(h *H) { h.Ops[1].Seen[0].Created = "c2" }, []Rule{Changed}},
		{"a 500", func(h *H) {
			h.Ops = append(h.Ops, op(6, history.Op{Kind: history.List, Code: 500, Err: "internal error"}))
		}, []Rule{Answer}},
		{"a volume in use that is not deleted, but lost", func(h *H) {
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Create, Name: "v-1", Code: 200, Got: "v1"}), op(2, history.Op{Kind: history.Delete, ID: "v1", Code: 409}))
		}, []Rule{Lost}},
		{"a 503 without Retry-After", func(h *H) { h.Ops = append(h.Ops, op(6, history.Op{Kind: history.List, Code: 503})) }, []Rule{Answer}},
		{"a second Job after one that ended", func(h *H) {
			h.Objects = append(h.Objects, job("DELETED", "u1", "t1", 30, 5), job("ADDED", "u2", "t1", 40, 6))
			h.Left[0].UID, h.Left[1].Owner = "u2", "u2"
		}, []Rule{Deleted, Twice}},
		{"two Jobs at once", func(h *H) {
			h.Objects = append(h.Objects, job("ADDED", "u2", "t1", 15, 3))
		}, []Rule{Twice}},
		{"a late Job of a stopped task that goes again", func(h *H) {
			h.Ops = append(h.Ops[:1], stop(2, "t1"), last("s0", task("stopped")), last("s1", task("stopped")))
			h.Objects = []history.Object{job("ADDED", "u1", "t1", 10, 2), job("DELETED", "u1", "t1", 20, 3), job("ADDED", "u2", "t1", 30, 4), job("DELETED", "u2", "t1", 40, 5)}
			h.Left = nil
		}, nil},
		{"a late Job of a stopped task that stays", func(h *H) {
			h.Ops = append(h.Ops[:1], stop(2, "t1"), last("s0", task("stopped")), last("s1", task("stopped")))
			h.Left = h.Left[:1]
		}, []Rule{Remains}},
		{"a Job that goes on without its task", func(h *H) { h.Left[0].Ended = false }, []Rule{Remains}},
		{"a Job goes that nobody stopped", func(h *H) {
			h.Objects = append(h.Objects[:1], job("DELETED", "u1", "t1", 30, 3))
			h.Left = nil
		}, []Rule{Deleted}},
		{"a pod without a Job", func(h *H) { h.Left = h.Left[1:] }, []Rule{Orphan}},
		{"a claim without a volume", func(h *H) { h.Left = append(h.Left, history.Left{Kind: "Claim", Name: "c", ID: "v1"}) }, []Rule{Orphan}},
		{"a claim that nobody deleted goes", func(h *H) {
			h.Objects = append(h.Objects, history.Object{Type: "DELETED", Kind: "Claim", Name: "c", UID: "c", ID: "v1", Ours: true})
		}, []Rule{Deleted}},
		{"a Job before its claim", func(h *H) {
			h.Objects[0].Mounts = []string{"c"}
			h.Objects = append(h.Objects, history.Object{Type: "ADDED", Kind: "Claim", Name: "c", UID: "c", Version: 11})
		}, []Rule{Early}},
		{"a Job after its claim", func(h *H) {
			h.Objects[0].Mounts = []string{"c"}
			h.Objects = append(h.Objects, history.Object{Type: "ADDED", Kind: "Claim", Name: "c", UID: "c", Version: 9})
		}, nil},
		{"a task that does not end", func(h *H) {
			h.Ops = append(h.Ops[:1], last("s0", task("pending")), last("s1", task("pending")))
		}, []Rule{Unfinished}},
		{"two servers know a different end", func(h *H) { h.Ops[4].Seen = []history.Seen{task("stopped")} }, []Rule{Backward, Diverged, Premature, Remains}},
		{"a task that fails", func(h *H) {
			h.Ops = append(h.Ops[:1], last("s0", task("failed")), last("s1", task("failed")))
		}, []Rule{Outcome}},
		{"the watch missed a Job", func(h *H) { h.Audits = append(h.Audits, h.Audits[0]) }, []Rule{History}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := good()
			tt.change(h)
			found := Check(h, Config{})
			if got := rules(found); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v:\n%v", got, tt.want, found)
			}
		})
	}
}

func TestReadsWhileTheAPIServerIsAway(t *testing.T) {
	h := good()
	c := Config{Away: []Span{{2 * time.Second, 4 * time.Second}}} // the first status request falls into this span
	for _, tt := range []struct {
		stale string
		want  int
	}{{"cluster; age=1", 0}, {"", 1}} {
		h.Ops[1].Stale = tt.stale
		found := Check(h, c)
		if len(found) != tt.want || tt.want > 0 && found[0].Rule != Unserved {
			t.Errorf("X-Stale %q: found %v", tt.stale, found)
		}
	}
}

// withEvents returns a good history in which all listeners receive the events of the task,
// after change.
func withEvents(change func(map[string][]history.Event)) *history.History {
	all := map[string][]history.Event{}
	for _, ear := range []string{history.LiveEar, history.StoredEar, history.LogEar, "s0"} {
		for i, phase := range []string{"pending", "pending", "running", "completed"} {
			kind := "phase"
			if i == 1 {
				kind = "progress"
			}
			all[ear] = append(all[ear], history.Event{Ear: ear, Seq: uint64(i + 2), N: 1, Type: kind, Kind: "task", ID: "t1", User: "ann", Phase: phase})
		}
	}
	change(all)
	h := good()
	for _, ear := range sorted(all) {
		h.Events = append(h.Events, all[ear]...)
	}
	return h
}

func TestEvents(t *testing.T) {
	everywhere := func(change func([]history.Event) []history.Event) func(map[string][]history.Event) {
		return func(all map[string][]history.Event) {
			for ear := range all {
				all[ear] = change(all[ear])
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(map[string][]history.Event)
		wrong  bool
	}{
		"as it should be":        {func(map[string][]history.Event) {}, false},
		"nobody listened":        {func(all map[string][]history.Event) { clear(all) }, false},
		"one was not heard":      {func(all map[string][]history.Event) { all["live"] = slices.Delete(all["live"], 1, 2) }, true},
		"the last was not heard": {func(all map[string][]history.Event) { all["s0"] = all["s0"][:3] }, true},
		"one was heard twice":    {func(all map[string][]history.Event) { all["live"] = slices.Insert(all["live"], 1, all["live"][0]) }, true},
		"one was not stored":     {func(all map[string][]history.Event) { all["stored"] = slices.Delete(all["stored"], 0, 1) }, true},
		"two changed places": {func(all map[string][]history.Event) {
			all["live"][1], all["live"][2] = all["live"][2], all["live"][1]
		}, true},
		"another user's":        {everywhere(func(es []history.Event) []history.Event { es[2].User = "bob"; return es }), true},
		"it does not begin":     {everywhere(func(es []history.Event) []history.Event { return es[2:] }), true},
		"it does not end":       {everywhere(func(es []history.Event) []history.Event { return es[:3] }), true},
		"it ends otherwise":     {everywhere(func(es []history.Event) []history.Event { es[3].Phase = "failed"; return es }), true},
		"it ends twice":         {everywhere(func(es []history.Event) []history.Event { e := es[3]; e.Seq++; return append(es, e) }), true},
		"nothing is told of it": {everywhere(func(es []history.Event) []history.Event { es = es[:1]; es[0].ID = "t2"; return es }), true},
	} {
		found := Check(withEvents(tt.change), Config{})
		wrong := slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == Event })
		if wrong != tt.wrong || !wrong && len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}
