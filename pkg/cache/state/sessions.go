package state

import (
	"cmp"
	"maps"
	"time"

	"k8s-cli/pkg/task"
)

// The sessions of browsers are not part of the state: the cookie of a session is the session.
// The state holds only the sessions that ended before they expired, until they expire.
const (
	// endedPerUser is how many ended sessions of one user are remembered one by one. One more
	// ends all sessions of the user.
	endedPerUser = 32
	// maxEnded bounds the ended sessions of all users.
	maxEnded = 10_000
	// longestSession bounds the time for which an ended session is remembered.
	longestSession = 48 * time.Hour
)

// An endedKey is one session of a user, or, with an empty id, all sessions of the user.
type endedKey struct{ user, id string }

type endedSessions struct {
	seq   uint64    // entry that ended the sessions
	until time.Time // when the sessions expire
}

type endedLine struct {
	User  string    `json:"user"`
	ID    string    `json:"id,omitempty"`
	Seq   uint64    `json:"seq"`
	Until time.Time `json:"until"`
}

func compareEnded(a, b endedKey) int {
	return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.id, b.id))
}

// endSessions ends one session or all sessions of a user, and forgets the sessions that have
// expired.
func (s *State) endSessions(c task.EndSessions) (task.Result, []task.Key) {
	count := 0 // of the sessions of the user that are remembered one by one
	maps.DeleteFunc(s.over, func(k endedKey, e endedSessions) bool {
		if e.until.After(s.Time) {
			if k.user == c.User && k.id != "" && k.id != c.ID {
				count++
			}
			return false
		}
		return true
	})
	until := c.Until.UTC()
	if latest := s.Time.Add(longestSession); until.After(latest) {
		until = latest
	}
	k := endedKey{c.User, c.ID}
	if count >= endedPerUser {
		k.id = ""
	}
	if k.id == "" {
		until = later(until, s.Time.Add(longestSession)) // some sessions of the user may expire later than c.Until
		maps.DeleteFunc(s.over, func(one endedKey, _ endedSessions) bool { return one.user == c.User })
	}
	if _, known := s.over[k]; !known && len(s.over) >= maxEnded && !s.endMostSessions() {
		return reject(c.ID, task.RejectedTooMany)
	}
	s.over[k] = endedSessions{s.Seq, until}
	return task.Result{ID: c.ID}, nil
}

// endMostSessions ends all sessions of the user with the most ended sessions, which takes one place
// instead of several, so that one user cannot keep others from ending theirs. It returns false if no
// user has several.
func (s *State) endMostSessions() bool {
	count := map[string]int{}
	for k := range s.over {
		count[k.user]++
	}
	most := ""
	for user, n := range count {
		if n > count[most] || n == count[most] && user < most {
			most = user
		}
	}
	if count[most] < 2 {
		return false
	}
	all := endedSessions{s.Seq, s.Time.Add(longestSession)}
	maps.DeleteFunc(s.over, func(k endedKey, _ endedSessions) bool { return k.user == most })
	s.over[endedKey{user: most}] = all
	return true
}

// SessionEnded reports whether a session has ended that began after the entry began. A session
// that has expired may have been forgotten.
func (s *State) SessionEnded(user, id string, began uint64) bool {
	_, one := s.over[endedKey{user, id}]
	all, ok := s.over[endedKey{user: user}]
	return one || ok && began < all.seq
}
