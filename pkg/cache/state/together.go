package state

import (
	"encoding/json"

	"k8s-cli/pkg/task"
)

// rejectTogether returns the results of the submissions that first begins if the fold accepts
// none of them, and nil otherwise. The submission that is the reason has a result of its own.
func (s *State) rejectTogether(first task.Command, commands []json.RawMessage) []task.Result {
	if first.Submit == nil || first.Submit.Together < 2 {
		return nil
	}
	commands = commands[:min(first.Submit.Together, len(commands))]
	together, known := map[string]string{}, 0
	for i, raw := range commands {
		c, err := task.DecodeCommand(raw)
		if err != nil {
			return nil // the caller reports the unknown command
		}
		if c.Submit == nil { // no server writes such an entry, but the fold must not fail
			return rejectedTogether(commands, i, task.Result{Rejection: task.RejectedUnknownWriter})
		}
		result, repeated := s.check(*c.Submit, bodyOf(c.Submit.Key, *c.Submit), together)
		if repeated {
			known++
		}
		if c.Submit.JobGroup != nil && known > 0 && known != i+1 { // a job group is stored as a whole
			result.Rejection = task.RejectedKeyReuse
		}
		if result.Rejection != "" {
			return rejectedTogether(commands, i, result)
		}
		if together[result.ID] = result.ID; c.Submit.Key != "" {
			together[c.Submit.Key] = result.ID
		}
	}
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
