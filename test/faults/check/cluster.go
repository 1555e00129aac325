package check

import (
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/history"
)

// complete: the watch of the harness reported every Job whose creation is in the audit log.
func complete(x *index) {
	created, watched := map[string]int{}, map[string]int{}
	for _, a := range x.Audits {
		if a.Verb == "create" && a.Resource == "jobs" {
			created[a.Name]++
		}
	}
	for _, o := range x.Objects {
		if o.Kind == "Job" && o.Type == "ADDED" {
			watched[o.Name]++
		}
	}
	for _, name := range sorted(created) {
		if created[name] > watched[name] {
			x.report(History, "", "Job %s was created %d times by the audit log, %d times by the watch", name, created[name], watched[name])
		}
	}
}

// A life is the life of one Job.
type life struct {
	history.Object        // the creation
	ended          string // Complete, Failed or empty
	endVersion     uint64 // resourceVersion at the end
	gone           time.Duration
}

// lives returns the Jobs of the servers, in the order of their creation.
func (x *index) lives() []*life {
	byUID := map[string]*life{}
	var all []*life
	objects := slices.Clone(x.Objects)
	slices.SortStableFunc(objects, func(a, b history.Object) int { return int(int64(a.Version) - int64(b.Version)) })
	for _, o := range objects {
		if o.Kind != "Job" || !o.Ours {
			continue
		}
		l := byUID[o.UID]
		switch {
		case o.Type == "ADDED" && l == nil:
			l = &life{Object: o}
			byUID[o.UID] = l
			all = append(all, l)
		case l == nil:
		case o.Type == "ENDED":
			l.ended, l.endVersion = o.Phase, o.Version
		case o.Type == "DELETED":
			l.gone = o.At
		}
	}
	return all
}

// jobs: a node of a task has only one Job. A node of a stopped or rejected task may get a
// second Job, from a controller that was paused during the creation. The second Job must be
// deleted, and no Job follows a finished Job.
func jobs(x *index) {
	before := map[string]*life{}
	for _, l := range x.lives() {
		node := l.ID + " " + l.Rank
		b := before[node]
		before[node] = l
		if owner, known := x.owners[l.ID]; known && owner != l.User {
			x.report(Crossed, l.ID, "its Job %s is of %q", l.Name, l.User)
		}
		if b == nil {
			continue
		}
		stopped := x.mayBeStopped(l.ID, x.ownerOf(l), func(o *history.Op) bool { return o.Begin < l.At })
		switch {
		case b.gone == 0:
			x.report(Twice, l.ID, "node %s has Job %s (%s) while %s (%s) is there", l.Rank, l.Name, l.UID, b.Name, b.UID)
		case b.ended != "":
			x.report(Twice, l.ID, "node %s got a Job (%s) at %s after one that was %s (%s)", l.Rank, l.UID, at(l.At), b.ended, b.UID)
		case !stopped && x.final[l.ID].Phase != "failed":
			x.report(Twice, l.ID, "node %s got a Job (%s) at %s after another (%s), and nobody had stopped it", l.Rank, l.UID, at(l.At), b.UID)
		}
	}
}

func (x *index) ownerOf(l *life) string {
	if owner, ok := x.owners[l.ID]; ok {
		return owner
	}
	return l.User
}

// nearlyFull is the number of Jobs from which finished Jobs may be deleted early, in a run
// without a limit of its own: a tenth less than the default of --max-active-jobs, because
// the watch of the harness may be late.
const nearlyFull = 18_000

// deletions: a Job is deleted only if its task was stopped or failed, if it mounts a deleted
// volume, or if it has finished and other tasks wait for its place. A claim is deleted only
// if its volume was deleted.
func deletions(x *index) {
	volumes := map[string]string{} // volume ids by claim name
	ended := map[string]bool{}     // UIDs of finished Jobs
	exist := map[string]bool{}     // UIDs of existing Jobs
	full := false                  // so many Jobs existed once that finished ones may be evicted
	for _, o := range x.Objects {
		switch {
		case o.Type == "ENDED":
			ended[o.UID] = true
		case o.Type == "ADDED" && o.Kind == "Job" && o.Ours:
			exist[o.UID] = true
			full = full || x.MaxJobs > 0 || len(exist) >= nearlyFull
		case o.Type == "DELETED":
			delete(exist, o.UID)
		}
		if o.Kind == "Claim" {
			volumes[o.Name] = o.ID
		}
		if o.Type != "DELETED" {
			continue
		}
		before := func(op *history.Op) bool { return op.Begin < o.At }
		switch {
		case !o.Ours:
		case full && ended[o.UID]: // evicted for other tasks
		case o.Kind == "Claim" && !slices.ContainsFunc(x.deleting[o.ID], before):
			x.report(Deleted, o.ID, "claim %s was deleted by %s at %s", o.Name, x.who(o.UID), at(o.At))
		case o.Kind == "Job" && x.final[o.ID].Phase != "failed" && !x.mayBeStopped(o.ID, o.User, before) && !x.released(o, volumes, before):
			x.report(Deleted, o.ID, "Job %s was deleted by %s at %s", o.Name, x.who(o.UID), at(o.At))
		}
	}
}

// released reports whether a Job mounts a volume that may have been deleted.
func (x *index) released(job history.Object, volumes map[string]string, before func(*history.Op) bool) bool {
	return slices.ContainsFunc(job.Mounts, func(claim string) bool {
		return slices.ContainsFunc(x.deleting[volumes[claim]], before)
	})
}

// who returns the user agent that deleted an object, according to the audit log.
func (x *index) who(uid string) string {
	for _, a := range x.Audits {
		if a.Verb == "delete" && a.UID == uid {
			name, _, _ := strings.Cut(a.Agent, " ")
			return name
		}
	}
	return "nobody known"
}

// leftovers: at rest a stopped task has no Job, a task that is over has no running Job, and
// every object has a record.
func leftovers(x *index) {
	jobs := map[string]bool{}
	for _, l := range x.Left {
		if l.Kind == "Job" {
			jobs[l.UID] = true
		}
	}
	volumes := map[string]bool{}
	for _, all := range x.lastVols {
		for id := range all {
			volumes[id] = true
		}
	}
	for _, l := range x.Left {
		s, known := x.final[l.ID]
		switch {
		case l.Going:
		case l.Kind == "Job" && !known:
			x.report(Orphan, l.ID, "Job %s has no task", l.Name)
		case l.Kind == "Job" && s.Phase == "stopped":
			x.report(Remains, l.ID, "Job %s of a stopped task", l.Name)
		case l.Kind == "Job" && over(s.Phase) && !l.Ended:
			x.report(Remains, l.ID, "Job %s goes on though its task is %s", l.Name, s.Phase)
		case l.Kind == "Claim" && !volumes[l.ID]:
			x.report(Orphan, l.ID, "claim %s has no volume", l.Name)
		case l.Kind == "Pod" && !jobs[l.Owner]:
			x.report(Orphan, l.ID, "pod %s has no Job", l.Name)
		}
	}
}

// mounts: a claim exists before a Job that mounts the claim.
func mounts(x *index) {
	claims := map[string]uint64{}
	for _, o := range x.Objects {
		if o.Kind == "Claim" && o.Type == "ADDED" {
			if v, ok := claims[o.Name]; !ok || o.Version < v {
				claims[o.Name] = o.Version
			}
		}
	}
	for _, l := range x.lives() {
		for _, claim := range l.Mounts {
			if v, ok := claims[claim]; !ok || v > l.Version {
				x.report(Early, l.ID, "Job %s mounts claim %s, which was not there when it was created", l.Name, claim)
			}
		}
	}
}
