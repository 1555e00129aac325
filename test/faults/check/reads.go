package check

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/history"
)

// A read is one answer about one task.
type read struct {
	*history.Op
	seen history.Seen
}

// reads returns the answers that claim to be current, by task id.
func (x *index) reads() map[string][]read {
	all := map[string][]read{}
	for i := range x.Ops {
		o := &x.Ops[i]
		if (o.Kind == history.Status || o.Kind == history.List) && o.Current() {
			for _, s := range o.Seen {
				all[s.ID] = append(all[s.ID], read{o, s})
			}
		}
	}
	return all
}

// visibility: a read that begins after a 2xx sees its effect on every pod, unless the read
// is marked as stale because of the log.
func visibility(x *index) {
	names := map[string]*history.Op{} // accepted submissions, by name
	byUser := map[string][]*history.Op{}
	for _, id := range sorted(x.accepted) {
		o := x.accepted[id]
		names[o.Name] = o
		byUser[o.User] = append(byUser[o.User], o)
	}
	volumes := map[string][]*history.Op{} // accepted creations, by user
	for _, id := range sorted(x.volumes) {
		o := x.volumes[id]
		volumes[o.User] = append(volumes[o.User], o)
	}
	for i := range x.Ops {
		o := &x.Ops[i]
		switch o.Kind {
		case history.Status:
			x.mustSee(o, x.accepted[o.ID])
		case history.Volume:
			x.mustSee(o, x.volumes[o.ID])
			x.mustMiss(o)
		case history.Volumes:
			x.mustListVolumes(o, volumes[o.User])
		case history.List:
			if first := names[o.Name]; first != nil && o.User == first.User {
				x.mustList(o, first)
			}
			if o.Whole && !o.Wide {
				for _, first := range byUser[o.User] {
					x.mustList(o, first)
				}
			}
		}
	}
}

// mustSee checks a status request for an object that the same user created.
func (x *index) mustSee(o, first *history.Op) {
	if first == nil || o.Code != 404 || o.User != first.User || first.End > o.Begin || strings.HasPrefix(o.Stale, "log") {
		return
	}
	if slices.ContainsFunc(x.deleting[o.ID], func(d *history.Op) bool { return d.Begin < o.End }) {
		return
	}
	x.report(Invisible, o.ID, "accepted by %s at %s, and %s did not have it at %s", first.Pod, at(first.End), o.Pod, at(o.Begin))
}

// mustMiss checks a status request for a volume that the same user deleted.
func (x *index) mustMiss(o *history.Op) {
	for _, d := range x.deleting[o.ID] {
		if d.OK() && d.End < o.Begin && o.Current() {
			x.report(Invisible, o.ID, "deleted on %s at %s, and %s still had it at %s", d.Pod, at(d.End), o.Pod, at(o.Begin))
		}
	}
}

// mustListVolumes checks a list of volumes: it contains the volumes that the user created,
// and not those that the user deleted.
func (x *index) mustListVolumes(o *history.Op, created []*history.Op) {
	if !o.Current() || o.Last {
		return
	}
	has := byID(o.Seen)
	for _, first := range created {
		id := first.Got
		_, listed := has[id]
		deleted := slices.ContainsFunc(x.deleting[id], func(d *history.Op) bool { return d.Begin < o.End })
		gone := slices.ContainsFunc(x.deleting[id], func(d *history.Op) bool { return d.OK() && d.End < o.Begin })
		switch {
		case !listed && !deleted && first.End <= o.Begin:
			x.report(Invisible, id, "accepted by %s at %s, and the list of %s lacked it at %s", first.Pod, at(first.End), o.Pod, at(o.Begin))
		case listed && gone:
			x.report(Invisible, id, "deleted, and still in the list of %s at %s", o.Pod, at(o.Begin))
		}
	}
}

func (x *index) mustList(o, first *history.Op) {
	if !o.Current() || first.End > o.Begin {
		return
	}
	if !slices.ContainsFunc(o.Seen, func(s history.Seen) bool { return s.ID == first.Got }) {
		x.report(Invisible, first.Got, "accepted by %s at %s, and the list of %s lacked it at %s", first.Pod, at(first.End), o.Pod, at(o.Begin))
	}
}

// order: the state in a later answer is not older than the state in an earlier one. All pods
// know from the log that a task is over. A pod may know from its own watch that a task runs,
// a moment before the other pods do. The creation time never changes.
func order(x *index) {
	all := x.reads()
	for _, id := range sorted(all) {
		reads := all[id]
		created := reads[0].seen.Created
		for _, r := range reads {
			if r.seen.Created != created {
				x.report(Changed, id, "created at %s, and on %s at %s created at %s", created, r.Pod, at(r.Begin), r.seen.Created)
				break
			}
		}
		x.forwards(id, reads)
	}
}

func rank(phase string) int {
	switch {
	case over(phase):
		return 2
	case phase == "running":
		return 1
	}
	return 0
}

// forwards compares each read with the reads that had ended before it began.
func (x *index) forwards(id string, begun []read) {
	ended := slices.Clone(begun)
	slices.SortFunc(begun, func(a, b read) int { return cmp.Compare(a.Begin, b.Begin) })
	slices.SortFunc(ended, func(a, b read) int { return cmp.Compare(a.End, b.End) })
	furthest := map[string]int{} // the most advanced phase that each pod has reported
	final := ""
	for _, r := range begun {
		for ; len(ended) > 0 && ended[0].End < r.Begin; ended = ended[1:] {
			e := ended[0]
			furthest[e.Pod] = max(furthest[e.Pod], rank(e.seen.Phase))
			if over(e.seen.Phase) {
				final = e.seen.Phase
			}
		}
		switch {
		case final != "" && r.seen.Phase != final:
			x.report(Backward, id, "%s, and later %s on %s at %s", final, r.seen.Phase, r.Pod, at(r.Begin))
			return
		case rank(r.seen.Phase) < furthest[r.Pod] && r.Stale == "":
			x.report(Backward, id, "%s on %s at %s, which had said more before", r.seen.Phase, r.Pod, at(r.Begin))
			return
		}
	}
}

// stops: after the acknowledgement of a stop, every read shows that the task is over. No
// read shows a task as stopped before a client requested a stop.
func stops(x *index) {
	all := x.reads()
	for _, id := range sorted(all) {
		user := x.owners[id]
		stopped, ok := x.stopped(id)
		for _, r := range all[id] {
			switch {
			case ok && stopped < r.Begin && !over(r.seen.Phase):
				x.report(Invisible, id, "stopped at %s, and %s on %s at %s", at(stopped), r.seen.Phase, r.Pod, at(r.Begin))
			case r.seen.Phase == "stopped" && user != "" && !x.mayBeStopped(id, user, func(o *history.Op) bool { return o.Begin < r.End }):
				x.report(Premature, id, "stopped on %s at %s, and nobody had asked for it", r.Pod, at(r.Begin))
			default:
				continue
			}
			break
		}
	}
}

// sweepingAfter returns the StopAll requests that began after a task was accepted.
func (x *index) sweepingAfter(id, user string) (after []*history.Op) {
	first := x.accepted[id]
	if first == nil {
		return nil
	}
	for _, s := range x.sweeping[user] {
		if s.Begin > first.End {
			after = append(after, s)
		}
	}
	return after
}

// isolation: no user sees or changes objects of another user.
func isolation(x *index) {
	for i := range x.Ops {
		o := &x.Ops[i]
		if !o.OK() {
			continue
		}
		if owner, known := x.owners[o.ID]; known && o.ID != "" && owner != o.User {
			x.report(Crossed, o.ID, "%q was let %s what is of %q, by %s", o.User, o.Kind, owner, o.Pod)
		}
		for _, s := range o.Seen {
			if s.User != o.User && !o.Wide {
				x.report(Crossed, s.ID, "%q was shown it by %s, as of %q", o.User, o.Pod, s.User)
			}
		}
	}
}

// answers: requests fail only in documented ways.
func answers(x *index) {
	for i := range x.Ops {
		o := &x.Ops[i]
		owner, known := x.owners[o.ID]
		switch {
		case o.OK() && o.Err == "":
		case o.Code == 503 && o.Retry:
		case o.Code == 0 && !x.Steady:
		case o.Code == 404 && o.ID != "" && (!known || owner != o.User || len(x.deleting[o.ID]) > 0):
		case o.Code == 409 && o.Kind == history.Delete && owner == o.User: // tasks use the volume
		case o.Code == 404 && (o.Kind == history.Status || o.Kind == history.Volume): // visibility checks these answers
		default:
			x.report(Answer, o.ID, "%s by %q on %s: %d %s", o.Kind, o.User, o.Pod, o.Code, o.Err)
		}
	}
}

// service: while the API server is away, reads are answered and marked as stale.
func service(x *index) {
	for i := range x.Ops {
		o := &x.Ops[i]
		reads := o.Kind == history.Status || o.Kind == history.List || o.Kind == history.Volume || o.Kind == history.Volumes
		away := slices.ContainsFunc(x.Away, func(s Span) bool { return s.From <= o.Begin && o.End <= s.To })
		if reads && away && (!o.OK() || o.Stale == "") {
			x.report(Unserved, o.ID, "%s on %s at %s while the API server was away: %d %s, X-Stale %q", o.Kind, o.Pod, at(o.Begin), o.Code, o.Err, o.Stale)
		}
	}
}

func at(t time.Duration) string { return t.Round(time.Microsecond).String() }
