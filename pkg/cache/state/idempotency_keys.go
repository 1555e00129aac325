package state

import (
	"time"

	"k8s-cli/pkg/task"
)

// maxRetired bounds the keys that outlive their objects: about 150 MB. Beyond the bound, the
// oldest keys expire early.
const maxRetired = 1 << 19

// An idempotency identifies an idempotency key, which belongs to one user and one kind of
// object.
type idempotency struct {
	kind      task.Kind
	user, key string
}

// A firstUse is the first use of a key.
type firstUse struct {
	id   string
	body string // identifies the body of the first request
}

// repeated returns the result of a command whose key was used before: the id of the first
// command if both bodies are equal, and a rejection otherwise. The order of the log decides
// which command is first.
func (s *State) repeated(k idempotency, body string) (result task.Result, repeated bool) {
	before, used := s.keys[k]
	switch {
	case k.key == "" || !used:
		return task.Result{}, false
	case before.body != body:
		return task.Result{ID: before.id, Rejection: task.RejectedKeyReuse}, true
	}
	return task.Result{ID: before.id}, true
}

// useKey records the first use of a key.
func (s *State) useKey(k idempotency, id, body string) {
	if k.key != "" {
		s.keys[k] = firstUse{id, body}
	}
}

// bodyOf returns the identity of the body of a request with a key, and "" without a key.
func bodyOf(key string, request interface{ Body() string }) string {
	if key == "" {
		return ""
	}
	return request.Body()
}

// A retiredKey outlives the record of its object.
type retiredKey struct {
	idempotency
	at time.Time // when the key was used
}

// retire retains the key of an expired object until the key is old enough.
func (s *State) retire(c task.ExpireHistory, k idempotency, id string, at time.Time) {
	if k.key == "" || s.keys[k].id != id {
		return
	}
	if s.longAgo(at, c.Now, c.KeysThen) {
		delete(s.keys, k)
		return
	}
	if s.Time.Before(at) {
		at = s.Time
	}
	s.retired = append(s.retired, retiredKey{k, at})
	if len(s.retired) > maxRetired {
		s.expireKey()
	}
}

// expireKeys removes retired keys that are old enough, at most c.Keys.
func (s *State) expireKeys(c task.ExpireHistory) (count int) {
	for count < c.Keys && len(s.retired) > 0 && s.longAgo(s.retired[0].at, c.Now, c.KeysThen) {
		s.expireKey()
		count++
	}
	return count
}

// expireKey removes the oldest retired key. Snapshots may share the others, so they must not
// be changed.
func (s *State) expireKey() {
	delete(s.keys, s.retired[0].idempotency)
	if s.retired = s.retired[1:]; len(s.retired) == 0 {
		s.retired = nil
	}
}

// RetiredKeys returns how many retired keys were used before then, at most limit.
func (s *State) RetiredKeys(then time.Time, limit int) (count int) {
	for count < min(limit, len(s.retired)) && s.retired[count].at.Before(then) {
		count++
	}
	return count
}
