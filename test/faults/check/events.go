package check

import (
	"cmp"
	"fmt"

	"k8s-cli/test/faults/history"
)

// events: every listener receives the same events, each once, in the order of their ids. The
// events of a task describe the life of the task: the task begins pending, moves forward,
// ends once in its final phase, and has no later events.
func events(x *index) {
	if len(x.Events) == 0 {
		return
	}
	heard := map[string][]history.Event{}
	for _, e := range x.Events {
		heard[e.Ear] = append(heard[e.Ear], e)
	}
	for _, ear := range sorted(heard) {
		x.ascending(ear, heard[ear])
	}
	stored := heard[history.StoredEar]
	for _, ear := range sorted(heard) {
		x.sameEvents(ear, heard[ear], stored)
	}
	lives := map[string][]history.Event{}
	for _, e := range stored {
		if e.Type == "phase" {
			lives[e.ID] = append(lives[e.ID], e)
		}
	}
	for _, id := range sorted(x.accepted) {
		x.life(id, lives[id])
	}
	for _, id := range sorted(x.volumes) {
		x.lifeOfVolume(id, lives[id])
	}
}

func (x *index) ascending(ear string, all []history.Event) {
	for i := 1; i < len(all); i++ {
		if place(all[i-1], all[i]) >= 0 {
			x.report(Event, all[i].ID, "%s heard %s after %s", ear, told(all[i]), told(all[i-1]))
			return
		}
	}
}

// sameEvents compares the events of a listener with the stored ones. sameEvents reports only
// the first difference, because the other differences follow from the first one.
func (x *index) sameEvents(ear string, got, stored []history.Event) {
	for i := range max(len(got), len(stored)) {
		switch {
		case i == len(got):
			x.report(Event, stored[i].ID, "%s did not hear %s, and %d more", ear, told(stored[i]), len(stored)-i-1)
		case i == len(stored):
			x.report(Event, got[i].ID, "%s heard %s, which is not stored, and %d more", ear, told(got[i]), len(got)-i-1)
		case content(got[i]) != content(stored[i]):
			x.report(Event, got[i].ID, "%s heard %s where %s is stored", ear, told(got[i]), told(stored[i]))
		default:
			continue
		}
		return
	}
}

// life checks the phase events of one task.
func (x *index) life(id string, all []history.Event) {
	order := map[string]int{"pending": 1, "running": 2, "completed": 3, "failed": 3, "stopped": 3}
	at := 0
	for i, e := range all {
		switch n := order[e.Phase]; {
		case i == 0 && n != 1:
			x.report(Event, id, "the first event is %s", told(e))
		case n <= at:
			x.report(Event, id, "%s comes after %s", told(e), told(all[i-1]))
		case e.User != x.owners[id]:
			x.report(Event, id, "%s is of %q, the task is of %q", told(e), e.User, x.owners[id])
		}
		at = order[e.Phase]
	}
	end := ""
	if len(all) > 0 {
		end = all[len(all)-1].Phase
	}
	if s, ok := x.final[id]; ok && s.Phase != end {
		x.report(Event, id, "the last event says %q, and the task is %s", end, s.Phase)
	}
}

func (x *index) lifeOfVolume(id string, all []history.Event) {
	for i, e := range all {
		switch {
		case i == 0 && e.Phase != "Pending":
			x.report(Event, id, "the first event is %s", told(e))
		case i > 0 && (all[i-1].Phase == "Deleted" || all[i-1].Phase == e.Phase):
			x.report(Event, id, "%s comes after %s", told(e), told(all[i-1]))
		}
	}
	if len(all) == 0 {
		x.report(Event, id, "nothing was told of the volume")
	}
}

func place(a, b history.Event) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N)) }

func content(e history.Event) history.Event {
	e.Ear = ""
	return e
}

func told(e history.Event) string {
	return fmt.Sprintf("%d.%d (%s %s %s)", e.Seq, e.N, e.Kind, e.ID, e.Phase)
}
