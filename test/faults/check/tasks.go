package check

import (
	"slices"

	"k8s-cli/test/faults/history"
)

// existence: every accepted submission is one task of its user on every pod, and there are
// no other tasks. The same holds for volumes until they are deleted.
func existence(x *index) {
	for _, pod := range sorted(x.last) {
		tasks := x.last[pod]
		for _, id := range sorted(x.accepted) {
			if _, ok := tasks[id]; !ok {
				x.report(Lost, id, "task %s of %q was accepted by %s, %s does not have it", x.accepted[id].Name, x.owners[id], x.accepted[id].Pod, pod)
			}
		}
		x.once(pod, history.Submit, tasks)
	}
	for _, pod := range sorted(x.lastVols) {
		volumes := x.lastVols[pod]
		for _, id := range sorted(x.volumes) {
			if _, ok := volumes[id]; !ok && len(x.deleting[id]) == 0 {
				x.report(Lost, id, "volume %s was accepted by %s, %s does not have it", x.volumes[id].Name, x.volumes[id].Pod, pod)
			}
		}
		x.once(pod, history.Create, volumes)
	}
}

// once: all objects with the same name come from one submission.
func (x *index) once(pod string, kind history.Kind, all map[string]history.Seen) {
	names := map[string]string{}
	for _, id := range sorted(all) {
		s := all[id]
		asked := x.asked[string(kind)+" "+s.Name]
		switch {
		case asked == nil:
			x.report(Phantom, id, "%s has %q of %q, which nobody submitted", pod, s.Name, s.User)
		case asked.User != s.User:
			x.report(Crossed, id, "%q was submitted by %q, %s says it is of %q", s.Name, asked.User, pod, s.User)
		case names[s.Name] != "":
			x.report(Doubled, id, "%s has %q of %q twice, the other is %s", pod, s.Name, s.User, names[s.Name])
		}
		names[s.Name] = id
	}
}

// keys: one idempotency key gives one id.
func keys(x *index) {
	first := map[string]*history.Op{}
	for i := range x.Ops {
		o := &x.Ops[i]
		if o.Key == "" || !o.OK() {
			continue
		}
		k := string(o.Kind) + "\x00" + o.User + "\x00" + o.Key
		if f := first[k]; f == nil {
			first[k] = o
		} else if f.Got != o.Got {
			x.report(Key, o.Got, "key %s gave %s on %s and %s on %s", o.Key, f.Got, f.Pod, o.Got, o.Pod)
		}
	}
}

// agreement: at rest all pods report the same state, and every task is over.
func agreement(x *index) {
	pods := sorted(x.last)
	if len(pods) == 0 {
		x.report(History, "", "no pod was asked for its tasks at the end")
		return
	}
	for _, pod := range pods[1:] {
		x.compare(pods[0], pod, x.last[pods[0]], x.last[pod])
		x.compare(pods[0], pod, x.lastVols[pods[0]], x.lastVols[pod])
	}
	for _, id := range sorted(x.final) {
		switch s := x.final[id]; {
		case !over(s.Phase):
			x.report(Unfinished, id, "%s of %q is still %s (%s)", s.Name, s.User, s.Phase, s.Reason)
		case s.Phase == "failed" && !x.lacksPredecessor(id):
			x.report(Outcome, id, "%s of %q failed: %s", s.Name, s.User, s.Reason)
		}
	}
}

func (x *index) compare(a, b string, as, bs map[string]history.Seen) {
	for _, id := range sorted(as) {
		if other, ok := bs[id]; ok && !same(as[id], other) {
			x.report(Diverged, id, "%s says %+v, %s says %+v", a, as[id], b, other)
		} else if !ok {
			x.report(Diverged, id, "%s has %+v, %s has not", a, as[id], b)
		}
	}
	for _, id := range sorted(bs) {
		if _, ok := as[id]; !ok {
			x.report(Diverged, id, "%s has %+v, %s has not", b, bs[id], a)
		}
	}
}

// same reports whether two pods report the same state of a task. same ignores the phase of a
// task that is not over, which is another violation.
func same(a, b history.Seen) bool {
	if !over(a.Phase) || !over(b.Phase) {
		a.Phase, a.Reason = b.Phase, b.Reason
	}
	return a == b
}

// whole reports whether the recorded entries are the complete log.
func (x *index) whole() bool {
	return len(x.Entries) > 0 && x.Entries[0].Seq == 1 && !slices.ContainsFunc(x.Entries[1:], func(e history.Entry) bool { return e.Cut })
}

// entries: the recorded part of the log has no gaps and belongs to one log. A complete log
// contains every accepted submission.
func entries(x *index) {
	if len(x.Entries) == 0 {
		return
	}
	submits := map[string]string{}
	for i, e := range x.Entries {
		if i > 0 && e.Seq != x.Entries[i-1].Seq+1 && !e.Cut {
			x.report(Log, "", "entry %d follows entry %d", e.Seq, x.Entries[i-1].Seq)
		}
		if e.Begin && len(e.Commands) == 0 {
			continue // such an entry has no effect unless it is the first entry
		}
		if e.Log == "" || e.Log != x.Entries[0].Log {
			x.report(Log, "", "entry %d is of log %q, the first one of %q", e.Seq, e.Log, x.Entries[0].Log)
		}
		for _, c := range e.Commands {
			if c.Kind == history.Submit {
				submits[c.ID] = c.Name
			}
		}
	}
	if !x.whole() {
		return
	}
	for _, id := range sorted(x.accepted) {
		if _, ok := submits[id]; !ok {
			x.report(Lost, id, "task %s was accepted by %s, the log does not hold it", x.accepted[id].Name, x.accepted[id].Pod)
		}
	}
}
