package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// upload records a stored archive. Of several archives with the same content the last one
// counts, because the stored data of an earlier one may be lost.
func (s *State) upload(c task.Upload) (task.Result, []task.Key) {
	s.Uploads[c.Key()] = task.UploadRecord{Upload: c, Used: s.Time}
	return task.Result{}, nil
}

// missing returns the archives that a submission names and that its user does not have.
func (s *State) missing(c task.Submit) (sums []string) {
	for _, sum := range c.Task.Sums() {
		if _, ok := s.Uploads[task.UploadKey{User: c.User, Sum: sum}]; !ok {
			sums = append(sums, sum)
		}
	}
	return sums
}

// use records that the uploads of a task are used now.
func (s *State) use(c task.Submit) {
	for _, sum := range c.Task.Sums() {
		k := task.UploadKey{User: c.User, Sum: sum}
		if u, ok := s.Uploads[k]; ok {
			u.Used = later(u.Used, s.Time)
			s.Uploads[k] = u
		}
	}
}

// deleteUploads deletes those uploads of the command that are idle. An upload that was used
// after the command was written stays, and so does an upload that a task needs which is not
// over.
func (s *State) deleteUploads(c task.DeleteUploads) (task.Result, []task.Key) {
	count := 0
	for _, k := range c.Uploads {
		u, ok := s.Uploads[k]
		switch {
		case !ok || s.uploadUses[k] > 0:
		case s.longAgo(u.Used, c.Now, c.Then):
			delete(s.Uploads, k)
			count++
		case s.ahead(u.Used, c.Now):
			u.Used = later(s.Time, c.Now.UTC())
			s.Uploads[k] = u
		}
	}
	return task.Result{Count: count}, nil
}

// IdleUploads returns at most limit uploads that no task needs, sorted by user and sum:
// uploads last used at or before then, and uploads whose last use is after future, which a
// wrong clock has recorded.
func (s *State) IdleUploads(then, future time.Time, limit int) (idle []task.UploadKey) {
	for _, k := range slices.SortedFunc(maps.Keys(s.Uploads), byName) {
		if len(idle) == limit {
			break
		}
		if used := s.Uploads[k].Used; (!used.After(then) || used.After(future)) && s.uploadUses[k] == 0 {
			idle = append(idle, k)
		}
	}
	return idle
}

func byName(a, b task.UploadKey) int {
	return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Sum, b.Sum))
}
