package state

import (
	"encoding/json"

	"k8s-cli/pkg/task"
)

// decideTogether decides about the submissions that first begins and that are accepted all or not at
// all. decideTogether returns their results if the fold accepts none of them; the submission that is
// the reason has a result of its own. Otherwise decideTogether leaves the decisions for submit, and
// returns nil.
func (s *State) decideTogether(first task.Command, commands []json.RawMessage) []task.Result {
	if first.Submit == nil || first.Submit.Together < 2 || len(s.decided) > 0 {
		return nil
	}
	commands = commands[:min(first.Submit.Together, len(commands))]
	together, known := map[string]string{}, 0
	decided := make([]decision, 0, len(commands))
	for i, raw := range commands {
		c, err := task.DecodeCommand(raw)
		if err != nil {
			return nil // the caller reports the unknown command
		}
		if c.Submit == nil { // no server writes such an entry, but the fold must not fail
			return rejectedTogether(commands, i, task.Result{Rejection: task.RejectedUnknownWriter})
		}
		d := s.decide(*c.Submit, together)
		if d.repeated {
			known++
		}
		if c.Submit.JobGroup != nil && known > 0 && known != i+1 { // a job group is stored as a whole
			d.result.Rejection = task.RejectedKeyReuse
		}
		if d.result.Rejection != "" {
			return rejectedTogether(commands, i, d.result)
		}
		decided = append(decided, d)
		if d.repeated && s.Tasks[d.result.ID] == nil {
			continue // the task of the first request has left the history: no task can come after it
		}
		if together[d.result.ID] = d.result.ID; c.Submit.Key != "" {
			together[c.Submit.Key] = d.result.ID
		}
	}
	s.decided = decided
	return nil
}

func rejectedTogether(commands []json.RawMessage, cause int, why task.Result) []task.Result {
	all := make([]task.Result, len(commands))
	for i := range all {
		all[i].Rejection = task.RejectedTogether
	}
	all[cause] = why
	return all
}
