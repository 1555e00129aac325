package state

import (
	"slices"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
)

// Events follow from the fold alone, so that every pod that folds an entry produces the same
// events.

func (s *State) taskEvent(r *task.Record, t task.EventType) { s.happened(task.EventOfTask(r, t)) }

// submittedEvent adds the first event of a task, which contains what a list of tasks shows of a
// new task.
func (s *State) submittedEvent(r *task.Record) {
	e, chosen := task.EventOfTask(r, task.EventPhase), r.Submit.Resources()
	e.NumNodes = r.NumNodes()
	e.Resources = &task.Requested{CPUs: chosen.CPUs, Memory: chosen.Memory, GPUs: overview.GPUText(chosen.Accelerators)}
	for _, ref := range slices.Concat(r.Submit.After, r.Submit.AfterAny) {
		if before := s.find(r.Submit.User, ref); before != nil {
			e.After = append(e.After, before.ID)
		}
	}
	s.happened(e)
}

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
