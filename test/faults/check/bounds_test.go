package check

import (
	"slices"
	"testing"
	"time"

	"k8s-cli/test/faults/history"
)

const (
	uncertain = "the log did not answer in time; the command may have been accepted"
	refusedIt = "the log takes no commands; nothing was stored, try again"
)

func refusal(t time.Duration, text string, o history.Op) history.Op {
	o.Code, o.Retry, o.Err = 503, true, text
	return op(t, o)
}

func audit(verb, name string, at time.Duration) history.Audit {
	return history.Audit{Verb: verb, Resource: "jobs", Name: name, Agent: "k8s-cli-server", At: at * time.Second}
}

// stoppedTask changes h: the task is stopped at 5 s and has no Job.
func stoppedTask(h *H) {
	h.Ops = append(h.Ops[:1], stop(5, "t1"), last("s0", task("stopped")), last("s1", task("stopped")))
	h.Objects, h.Audits, h.Left = nil, nil, nil
}

func volume() history.Seen { return history.Seen{ID: "v1", Name: "v-1", User: "ann"} }

// withVolume adds a volume to h. The volume was created at 1 s, and both servers list the
// volume.
func withVolume(h *H) {
	h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Create, Name: "v-1", Code: 200, Got: "v1"}))
	for _, pod := range []string{"s0", "s1"} {
		h.Ops = append(h.Ops, op(95, history.Op{Kind: history.Volumes, Pod: pod, Code: 200, Wide: true, Last: true, Seen: []history.Seen{volume()}}))
	}
}

func TestBounds(t *testing.T) {
	ghost := history.Op{Kind: history.Submit, Name: "t-2"}
	second := history.Seen{ID: "t2", Name: "t-2", User: "ann", Phase: "completed"}
	for _, tt := range []struct {
		name   string
		config Config
		change func(*H)
		want   []Rule
	}{
		{"a command answered 503 is stored soon", Config{}, func(h *H) {
			h.Ops = append(h.Ops, refusal(1, uncertain, ghost))
			h.Entries = append(h.Entries, entry(3, 9*time.Second, submitted("t2", "t-2")))
			rest(h, task("completed"), second)
		}, nil},
		{"a command answered 503 is stored late, and nothing came between", Config{}, func(h *H) {
			h.Ops = append(h.Ops, refusal(1, uncertain, ghost))
			h.Entries = append(h.Entries, entry(3, 30*time.Second, submitted("t2", "t-2")))
			rest(h, task("completed"), second)
		}, nil},
		{"a command answered 503 is stored late, behind another", Config{}, func(h *H) {
			h.Ops = append(h.Ops, refusal(1, uncertain, ghost), stop(10, "t1"))
			h.Entries = append(h.Entries, entry(3, 10*time.Second, history.Command{Kind: history.Stop, ID: "t1", User: "ann"}), entry(4, 30*time.Second, submitted("t2", "t-2")))
			rest(h, task("completed"), second)
		}, []Rule{Late}},
		{"an unanswered stop is stored late, behind another command", Config{}, func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.Stop, ID: "t1", Code: 0, Err: "EOF"}), refusal(6, uncertain, ghost))
			h.Entries = append(h.Entries, entry(3, 7*time.Second, submitted("t2", "t-2")), entry(4, 30*time.Second, history.Command{Kind: history.Stop, ID: "t1"}))
			rest(h, task("completed"), second)
		}, []Rule{Late}},
		{"a second attempt does not cover what the first one stores late", Config{}, func(h *H) {
			again := ghost
			again.Code, again.Got = 200, "t2"
			h.Ops = append(h.Ops, refusal(1, uncertain, ghost), op(8, again))
			h.Entries = append(h.Entries, entry(3, 8*time.Second, submitted("t2", "t-2")),
				entry(4, 9*time.Second, history.Command{Kind: history.StopAll, User: "bob"}), entry(5, 30*time.Second, submitted("t3", "t-2")))
			h.Ops = append(h.Ops, op(9, history.Op{Kind: history.StopAll, User: "bob", Code: 200}))
			rest(h, task("completed"), second)
		}, []Rule{Late}},
		{"a stop that was over already was answered 200, and an earlier one is stored late", Config{}, func(h *H) {
			h.Ops = append(h.Ops, refusal(6, uncertain, history.Op{Kind: history.Stop, ID: "t1"}), stop(8, "t1"), refusal(6, uncertain, ghost))
			h.Entries = append(h.Entries, entry(3, 7*time.Second, submitted("t2", "t-2")), entry(4, 30*time.Second, history.Command{Kind: history.Stop, ID: "t1"}))
			rest(h, task("completed"), second)
		}, []Rule{Late}},
		{"an acknowledged command is stored after its answer", Config{}, func(h *H) { h.Entries[1].At = 5 * time.Second }, []Rule{Late}},
		{"a repeated entry is none", Config{}, func(h *H) {
			again := h.Entries[1]
			again.Seq, again.At = 3, 40*time.Second
			h.Entries = append(h.Entries, again)
		}, nil},
		{"nothing was stored, and nothing is", Config{}, func(h *H) { h.Ops = append(h.Ops, refusal(1, refusedIt, ghost)) }, nil},
		{"nothing was stored, and yet it is", Config{}, func(h *H) {
			h.Ops = append(h.Ops, refusal(1, refusedIt, ghost))
			h.Entries = append(h.Entries, entry(3, 2*time.Second, submitted("t2", "t-2")))
			rest(h, task("completed"), second)
		}, []Rule{Denied}},
		{"a command that nobody asked for", Config{}, func(h *H) {
			h.Entries = append(h.Entries, entry(3, 2*time.Second, history.Command{Kind: history.StopAll, User: "ann"}))
		}, []Rule{Phantom}},

		{"a Job soon after the stop of its task, which goes again", Config{}, func(h *H) {
			stoppedTask(h)
			h.Objects = []history.Object{job("ADDED", "u1", "t1", 10, 12), job("DELETED", "u1", "t1", 20, 13)}
			h.Audits = []history.Audit{audit("create", "t-1-t1", 12)}
		}, nil},
		{"a Job long after the stop of its task, which goes again", Config{}, func(h *H) {
			stoppedTask(h)
			h.Objects = []history.Object{job("ADDED", "u1", "t1", 10, 20), job("DELETED", "u1", "t1", 20, 21)}
			h.Audits = []history.Audit{audit("create", "t-1-t1", 20)}
		}, []Rule{Posthumous}},
		{"the watch told late of a Job", Config{}, func(h *H) {
			stoppedTask(h)
			h.Objects = []history.Object{job("ADDED", "u1", "t1", 10, 20), job("DELETED", "u1", "t1", 20, 21)}
			h.Audits = []history.Audit{audit("create", "t-1-t1", 6)}
		}, nil},
		{"the scenario held the Job back", Config{Held: true}, func(h *H) {
			stoppedTask(h)
			h.Objects = []history.Object{job("ADDED", "u1", "t1", 10, 20), job("DELETED", "u1", "t1", 20, 21)}
		}, nil},

		{"a volume that was accepted is not listed", Config{}, func(h *H) {
			withVolume(h)
			h.Ops = append(h.Ops, op(3, history.Op{Kind: history.Volumes, Code: 200}))
		}, []Rule{Invisible}},
		{"a list marked as old may lack a volume", Config{}, func(h *H) {
			withVolume(h)
			h.Ops = append(h.Ops, op(3, history.Op{Kind: history.Volumes, Code: 200, Stale: "log; age=3"}))
		}, nil},
		{"a volume that was deleted is listed", Config{}, func(h *H) {
			withVolume(h)
			h.Ops = append(h.Ops, op(3, history.Op{Kind: history.Delete, ID: "v1", Code: 200, Got: "v1"}),
				op(5, history.Op{Kind: history.Volumes, Code: 200, Seen: []history.Seen{volume()}}))
			for i := range h.Ops {
				if h.Ops[i].Last && h.Ops[i].Kind == history.Volumes {
					h.Ops[i].Seen = nil
				}
			}
		}, []Rule{Invisible}},
		{"a 404 of what was accepted, that is old as to the cluster only", Config{}, func(h *H) {
			h.Ops = append(h.Ops, op(2, history.Op{Kind: history.Status, ID: "t1", Code: 404, Stale: "cluster; age=1"}))
		}, []Rule{Invisible}},

		{"as many Jobs as allowed", Config{MaxJobs: 1}, func(*H) {}, nil},
		{"another Job once one has gone", Config{MaxJobs: 1}, func(h *H) {
			h.Objects = append(h.Objects, job("DELETED", "u1", "t1", 25, 5), job("ADDED", "u2", "t2", 30, 6), job("ENDED", "u2", "t2", 40, 7))
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Submit, Name: "t-2", Code: 0}))
			rest(h, task("completed"), second)
		}, nil},
		{"another Job while one that has ended is kept", Config{MaxJobs: 1}, func(h *H) {
			h.Objects = append(h.Objects, job("ADDED", "u2", "t2", 30, 6), job("ENDED", "u2", "t2", 40, 7))
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Submit, Name: "t-2", Code: 0}))
			rest(h, task("completed"), second)
		}, []Rule{Crowded}},
		{"more Jobs than allowed", Config{MaxJobs: 1}, func(h *H) {
			h.Objects = append(h.Objects, job("ADDED", "u2", "t2", 15, 6), job("ENDED", "u2", "t2", 40, 7))
			h.Ops = append(h.Ops, op(1, history.Op{Kind: history.Submit, Name: "t-2", Code: 0}))
			rest(h, task("completed"), second)
		}, []Rule{Crowded}},

		{"a server is ready with all there was", Config{}, func(h *H) {
			h.Ops = append(h.Ops, op(20, history.Op{Kind: history.List, User: "nobody", Code: 200, Wide: true, Start: 15 * time.Second, Seen: []history.Seen{task("completed")}}))
		}, nil},
		{"a server is ready without what was accepted while it started", Config{}, func(h *H) {
			h.Ops = append(h.Ops, op(20, history.Op{Kind: history.List, User: "nobody", Code: 200, Wide: true, Start: time.Second}))
		}, nil},
		{"a server is ready without what was accepted before", Config{}, func(h *H) {
			h.Ops = append(h.Ops, op(20, history.Op{Kind: history.List, User: "nobody", Code: 200, Wide: true, Start: 15 * time.Second, Stale: "log; age=1"}))
		}, []Rule{Incomplete}},

		{"a snapshot reaches to the log", Config{}, func(h *H) {
			h.Snapshots = []history.Snapshots{{First: 1, Last: 5}, {First: 5, Last: 9, Seqs: []uint64{2, 5}}}
		}, nil},
		{"no snapshot is left of a log that was cut", Config{}, func(h *H) { h.Snapshots = []history.Snapshots{{First: 5, Last: 9}} }, []Rule{Uncovered}},
		{"the snapshots end before the log begins", Config{}, func(h *H) {
			h.Snapshots = []history.Snapshots{{First: 5, Last: 9, Seqs: []uint64{2, 3}}}
		}, []Rule{Uncovered}},

		{"entries that were cut before they were read prove nothing", Config{}, func(h *H) {
			h.Entries = []history.Entry{h.Entries[0], {Seq: 7, Log: "l", Cut: true}}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := good()
			tt.change(h)
			found := Check(h, tt.config)
			if got := rules(found); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v:\n%v", got, tt.want, found)
			}
		})
	}
}

func rules(found []Violation) (all []Rule) {
	for _, v := range found {
		if !slices.Contains(all, v.Rule) {
			all = append(all, v.Rule)
		}
	}
	return all
}

// divided returns a history with a partition from 10 s to 30 s. s1 is on the majority side.
// The reads of s1 are marked as stale until markedUntil. s1 accepts submissions from taken
// on. A Job is created at job, or never if job is 0.
func divided(markedUntil, taken, job time.Duration) *H {
	h := &history.History{Ops: []history.Op{
		op(11, history.Op{Kind: history.Status, Pod: "s1", ID: "t1", Code: 200, Stale: "log; age=1"}),
		op(markedUntil, history.Op{Kind: history.Status, Pod: "s1", ID: "t1", Code: 200}),
		refusal(12, uncertain, history.Op{Kind: history.Submit, Pod: "s1", Name: "t-1"}),
		refusal(14, uncertain, history.Op{Kind: history.Submit, Pod: "s1", Name: "t-1"}),
		op(taken, history.Op{Kind: history.Submit, Pod: "s1", Name: "t-1", Code: 200, Got: "t1"}),
		op(12, history.Op{Kind: history.Status, ID: "t0", Code: 200}),
		op(13, history.Op{Kind: history.Status, ID: "t0", Code: 200, Stale: "log; age=1"}),
	}}
	if job > 0 {
		h.Audits = []history.Audit{audit("create", "t-1-t1", job)}
		h.Objects = []history.Object{{Type: "ADDED", Kind: "Job", Name: "t-1-t1", UID: "u1", ID: "t1", Ours: true, At: (job + 3) * time.Second}}
	}
	return h
}

func TestPartitions(t *testing.T) {
	p := Partition{Span: Span{10 * time.Second, 30 * time.Second}, Minority: []string{"s0"}, Majority: []string{"s1"}, Apart: true}
	shaken, through := p, p
	shaken.Shaken, through.Apart = true, false
	for _, tt := range []struct {
		name               string
		history            *H
		partition          Partition
		marked, taken, job time.Duration
		violations         int
	}{
		{"in time", divided(18, 16, 17), p, 7500 * time.Millisecond, 4500 * time.Millisecond, 7 * time.Second, 0},
		{"marked too long", divided(22, 16, 17), p, 11500 * time.Millisecond, 4500 * time.Millisecond, 7 * time.Second, 1},
		{"no Job", divided(18, 16, 0), p, 7500 * time.Millisecond, 4500 * time.Millisecond, 0, 1},
		{"a Job too late", divided(18, 16, 41), p, 7500 * time.Millisecond, 4500 * time.Millisecond, 31 * time.Second, 1},
		{"something was killed", divided(22, 16, 0), shaken, 11500 * time.Millisecond, 4500 * time.Millisecond, 0, 0},
		{"something passes", divided(22, 16, 0), through, 11500 * time.Millisecond, 4500 * time.Millisecond, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Partitions: []Partition{tt.partition}}
			f := Partitions(tt.history, c)[0]
			if f.Marked != tt.marked || f.Refused != tt.taken || f.FirstJob != tt.job || f.Old != 1 || f.New != 1 {
				t.Errorf("got %+v", f)
			}
			x := newIndex(tt.history, c)
			if cutoffs(x); len(x.found) != tt.violations {
				t.Errorf("found %v", x.found)
			}
		})
	}
}
