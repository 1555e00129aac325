package state

import (
	"time"

	"k8s-cli/pkg/task"
)

// maxRetired bounds the keys that outlive what they made: some 150 MB. Beyond
// that, the first ones go before their time.
const maxRetired = 1 << 19

// An idempotency key belongs to one user and to one kind of object.
type idempotency struct {
	kind      task.Kind
	user, key string
}

// firstUse is what a key was used for first.
type firstUse struct {
	id   string
	body string // names what was asked for
}

// repeated returns the verdict on a command whose key was used before: the first
// one's id if it asks for the same, whoever was first by the order of the log. A
// new key is noted for id. asked names what is asked for.
func (s *State) repeated(k idempotency, id string, asked func() string) (result task.Result, repeated bool) {
	if k.key == "" {
		return task.Result{}, false
	}
	body := asked()
	before, used := s.keys[k]
	switch {
	case !used:
		s.keys[k] = firstUse{id, body}
		return task.Result{}, false
	case before.body != body:
		return task.Result{ID: before.id, Rejection: task.RejectedKeyReuse}, true
	}
	return task.Result{ID: before.id}, true
}

// A retiredKey is known after what it made is forgotten.
type retiredKey struct {
	idempotency
	at time.Time // when it was used
}

// retire keeps the key of an object that is forgotten until it is old enough.
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

// expireKeys forgets up to the wanted number of retired keys that are old enough.
func (s *State) expireKeys(c task.ExpireHistory) (count int) {
	for count < c.Keys && len(s.retired) > 0 && s.longAgo(s.retired[0].at, c.Now, c.KeysThen) {
		s.expireKey()
		count++
	}
	return count
}

// expireKey forgets the first retired key. Snapshots may share the others, so none
// of them is changed.
func (s *State) expireKey() {
	delete(s.keys, s.retired[0].idempotency)
	if s.retired = s.retired[1:]; len(s.retired) == 0 {
		s.retired = nil
	}
}

// RetiredKeys returns how many retired keys may go of those that were used before
// then, at most limit.
func (s *State) RetiredKeys(then time.Time, limit int) (count int) {
	for count < min(limit, len(s.retired)) && s.retired[count].at.Before(then) {
		count++
	}
	return count
}
