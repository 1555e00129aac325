package state

import (
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// maxAnswered bounds the keys of stops and deletions that are remembered. Beyond the bound, the
// oldest keys are forgotten early, and a repetition then is a command of its own.
const maxAnswered = 4096

// An answered is the key of a stop or a deletion, and its result.
type answered struct {
	User   string      `json:"user"`
	Key    string      `json:"key"`
	Body   string      `json:"body"` // identifies the request
	At     time.Time   `json:"at"`   // log time of the command
	Result task.Result `json:"result"`
}

// once applies a stop or a deletion, unless an earlier command of the user has the same key: the result
// is then that of the earlier command. A rejected command may be repeated with the same key.
func (s *State) once(user, key, body string, apply func() (task.Result, []task.Key)) (task.Result, []task.Key) {
	if key == "" {
		return apply()
	}
	s.forgetAnswered()
	if i := slices.IndexFunc(s.answered, func(a answered) bool { return a.Key == key && a.User == user }); i >= 0 {
		if s.answered[i].Body != body {
			return reject("", task.RejectedKeyReuse)
		}
		return s.answered[i].Result, nil
	}
	result, changed := apply()
	if result.Rejection == "" {
		s.answered = append(s.answered, answered{user, key, body, s.Time, result})
	}
	return result, changed
}

// forgetAnswered removes keys that are old enough, and the oldest key if there are too many. Snapshots
// may share the others, so they must not be changed.
func (s *State) forgetAnswered() {
	oldest := s.Time.Add(-task.KeyLifetime)
	for len(s.answered) > 0 && (s.answered[0].At.Before(oldest) || len(s.answered) >= maxAnswered) {
		s.answered = s.answered[1:]
	}
	if len(s.answered) == 0 {
		s.answered = nil
	}
}
