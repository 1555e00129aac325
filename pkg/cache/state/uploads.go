package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// upload notes an archive that is stored. Of several that have the same content
// the last one counts: what is stored of the one before may be lost.
func (s *State) upload(c task.Upload) (task.Verdict, []task.Key) {
	s.Uploads[c.Key()] = task.UploadRecord{Upload: c, Used: s.Time}
	return task.Verdict{}, nil
}

// missing returns the archives that a submission names and its user has not.
func (s *State) missing(c task.Submit) (sums []string) {
	for _, sum := range c.Task.Sums() {
		if _, ok := s.Uploads[task.UploadKey{User: c.User, Sum: sum}]; !ok {
			sums = append(sums, sum)
		}
	}
	return sums
}

// use notes that the uploads of a task are used now.
func (s *State) use(c task.Submit) {
	for _, sum := range c.Task.Sums() {
		k := task.UploadKey{User: c.User, Sum: sum}
		if u, ok := s.Uploads[k]; ok {
			u.Used = s.Time
			s.Uploads[k] = u
		}
	}
}

// discard ends those of the uploads that may go. One that was used meanwhile
// stays, and so does one that a task needs which is not over.
func (s *State) discard(c task.Discard) (task.Verdict, []task.Key) {
	count := 0
	for _, k := range c.Uploads {
		if u, ok := s.Uploads[k]; ok && !u.Used.After(c.Then) && !s.needed(k) {
			delete(s.Uploads, k)
			count++
		}
	}
	return task.Verdict{Count: count}, nil
}

// needed reports whether a task that is not over names the upload.
func (s *State) needed(k task.UploadKey) bool {
	for id := range s.active[k.User] {
		if whole := s.Tasks[id].whole; whole != nil && slices.Contains(whole.Submit.Task.Sums(), k.Sum) {
			return true
		}
	}
	return false
}

// Idle returns the uploads that may go of those that were not used since then, by
// their names, at most limit.
func (s *State) Idle(then time.Time, limit int) (idle []task.UploadKey) {
	for _, k := range slices.SortedFunc(maps.Keys(s.Uploads), byName) {
		if len(idle) == limit {
			break
		}
		if !s.Uploads[k].Used.After(then) && !s.needed(k) {
			idle = append(idle, k)
		}
	}
	return idle
}

func byName(a, b task.UploadKey) int {
	return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Sum, b.Sum))
}
