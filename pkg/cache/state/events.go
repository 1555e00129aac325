package state

import "k8s-cli/pkg/task"

// Events follow from the fold alone, so that every pod that folds an entry produces the same
// events.

func (s *State) taskEvent(r *task.Record, t task.EventType) { s.happened(task.EventOfTask(r, t)) }

func (s *State) volumeEvent(v *task.VolumeRecord, t task.EventType) {
	s.happened(task.EventOfVolume(v, s.Time, t))
}

// appliedEvent adds the event that all Kubernetes objects of a task or volume exist.
func (s *State) appliedEvent(e task.Event, message string) {
	e.Reason, e.Message = task.ReasonApplied, message
	s.happened(e)
}

// happened gives an event its id and adds the event to the entry being folded.
func (s *State) happened(e task.Event) {
	s.last = task.EventID{Seq: s.Seq, N: len(s.events) + 1}
	e.ID = s.last
	s.events = append(s.events, e)
}
