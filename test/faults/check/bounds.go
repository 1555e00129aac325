package check

import (
	"cmp"
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// creations returns the time of creation of each Job, by UID. The times come from the audit
// log if the cluster has an audit log, because the watch reports creations later.
func (x *index) creations(all []*life) map[string]time.Duration {
	byName := map[string][]time.Duration{}
	for _, a := range x.Audits {
		if a.Verb == "create" && a.Resource == "jobs" {
			byName[a.Name] = append(byName[a.Name], a.At)
		}
	}
	for _, times := range byName {
		slices.Sort(times)
	}
	created := map[string]time.Duration{}
	for _, l := range all {
		created[l.UID] = l.At
		if times := byName[l.Name]; len(times) > 0 {
			created[l.UID], byName[l.Name] = times[0], times[1:]
		}
	}
	return created
}

// stopped returns the time when the first stop of a task was acknowledged. ok is false if no
// stop was.
func (x *index) stopped(id string) (first time.Duration, ok bool) {
	user := x.owners[id]
	for _, s := range slices.Concat(x.stopping[id], x.sweepingAfter(id, user)) {
		if s.OK() && s.User == user && (!ok || s.End < first) {
			first, ok = s.End, true
		}
	}
	return first, ok
}

// posthumous: no Job is created long after the stop of its task was acknowledged.
func posthumous(x *index) {
	if x.Held {
		return
	}
	all := x.lives()
	created := x.creations(all)
	for _, l := range all {
		stop, ok := x.stopped(l.ID)
		if ok && created[l.UID] > stop+grace+slack {
			x.report(Posthumous, l.ID, "stopped at %s, and its Job %s (%s) was created at %s", at(stop), l.Name, l.UID, at(created[l.UID]))
		}
	}
}

// crowded: at no resourceVersion of the cluster do more Jobs exist than allowed. Finished
// Jobs count.
func crowded(x *index) {
	if x.MaxJobs == 0 {
		return
	}
	objects := slices.Clone(x.Objects)
	slices.SortStableFunc(objects, func(a, b history.Object) int { return cmp.Compare(a.Version, b.Version) })
	exist := map[string]bool{}
	for _, o := range objects {
		switch {
		case o.Kind != "Job" || !o.Ours:
		case o.Type == "DELETED":
			delete(exist, o.UID)
		case o.Type == "ADDED":
			if exist[o.UID] = true; len(exist) > x.MaxJobs {
				x.report(Crowded, o.ID, "Job %s is the %dth that exists at %s, at most %d may", o.Name, len(exist), at(o.At), x.MaxJobs)
			}
		}
	}
}

// started: a server that became ready has all tasks that were accepted before it was
// started.
func started(x *index) {
	for i := range x.Ops {
		o := &x.Ops[i]
		if o.Start == 0 || !o.OK() {
			continue
		}
		has := byID(o.Seen)
		missing, first := 0, ""
		for _, id := range sorted(x.accepted) {
			if _, ok := has[id]; !ok && x.accepted[id].End < o.Start {
				if missing++; first == "" {
					first = id
				}
			}
		}
		if missing > 0 {
			x.report(Incomplete, first, "%s was ready at %s without it and %d others that were accepted before %s, when it was started (X-Stale %q)",
				o.Pod, at(o.Begin), missing-1, at(o.Start), o.Stale)
		}
	}
}

// covered: whenever the log was compacted, a snapshot covers all removed entries.
func covered(x *index) {
	for _, s := range x.Snapshots {
		if s.First > 1 && !slices.ContainsFunc(s.Seqs, func(seq uint64) bool { return seq+1 >= s.First }) {
			x.report(Uncovered, "", "at %s the log begins with entry %d, and the snapshots end with %v", at(s.At), s.First, s.Seqs)
			return
		}
	}
}
