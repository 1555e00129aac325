package submission

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A UsageReader returns the usage of users, as of the log that this pod has folded.
type UsageReader interface {
	Usage(user string) task.Usage               // without the open streams
	UploadSize(user, sum string) (bytes int64)  // size of an archive of the user; 0 if the user has no such archive
	Submitted(user, idempotencyKey string) bool // whether the server accepted a submission with this key
}

// The values of Retry-After for each limit: an estimate of when the usage falls.
const (
	afterActive  = 5 * time.Second // a task must end
	afterWaiting = time.Second     // a Job must be created
	afterUpload  = time.Minute     // uploads must expire
)

const maxTracked = 4096 // number of users from which idle entries are deleted

// Limits enforces the limits of each user. Submissions and uploads that are not in the log
// yet count as if they were in the log, so that two concurrent requests to one pod cannot
// both pass the limit. Two concurrent requests to different pods can both pass the limit.
type Limits struct {
	most   task.UserLimits
	reader UsageReader

	mu    sync.Mutex
	users map[string]*userUsage
}

// A userUsage is the usage of one user that is not in the log, or not yet.
type userUsage struct {
	submits   int   // submissions in progress
	uploading int64 // bytes of uploads in progress
	rate      *rate.Limiter
}

// NewLimits returns limits without any reservation. meter may be nil if there are no limits.
func NewLimits(most task.UserLimits, meter UsageReader) *Limits {
	if most.SubmitRate > 0 && most.SubmitBurst <= 0 {
		most.SubmitBurst = max(1, int(math.Ceil(most.SubmitRate)))
	}
	return &Limits{most: most, reader: meter, users: map[string]*userUsage{}}
}

// usageOf returns the usage of a user. The caller holds the lock.
func (l *Limits) usageOf(user string) *userUsage {
	a := l.users[user]
	if a == nil {
		if len(l.users) >= maxTracked {
			l.prune()
		}
		a = &userUsage{}
		if l.most.SubmitRate > 0 {
			a.rate = rate.NewLimiter(rate.Limit(l.most.SubmitRate), l.most.SubmitBurst)
		}
		l.users[user] = a
	}
	return a
}

// prune deletes the entries that equal a new entry.
func (l *Limits) prune() {
	for user, a := range l.users {
		if a.submits == 0 && a.uploading == 0 && (a.rate == nil || a.rate.Tokens() >= float64(l.most.SubmitBurst)) {
			delete(l.users, user)
		}
	}
}

// isLimited reports whether submissions have any limit.
func (l *Limits) isLimited() bool {
	return l.most.Active > 0 || l.most.Waiting > 0 || l.most.SubmitRate > 0
}

// Reserve reserves submissions for a user, all or none; keys holds the key of each submission,
// which may be empty. The caller calls Release after the log has stored or rejected the
// submissions. The error is of kind problem.LimitReached, or problem.TooLarge if the limits never
// allow so many submissions at once. A repeated request with the same key does not count
// against the limits.
func (l *Limits) Reserve(user string, keys ...string) error {
	if !l.isLimited() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.usageOf(user)
	submissions := 0
	for _, key := range keys {
		if key == "" || !l.reader.Submitted(user, key) {
			submissions++
		}
	}
	if err := l.checkCapacity(user, submissions, a); err != nil {
		return err
	}
	a.submits += len(keys)
	return nil
}

func (l *Limits) checkCapacity(user string, submissions int, a *userUsage) error {
	if submissions == 0 {
		return nil
	}
	for _, limit := range []struct {
		flag string
		most int
	}{{"--max-active-tasks", l.most.Active}, {"--max-waiting-tasks", l.most.Waiting}, {"--submit-burst", l.most.SubmitBurst}} {
		if limit.most > 0 && submissions > limit.most {
			return problem.New(problem.TooLarge, fmt.Sprintf("%d tasks that are accepted together exceed the limit per user of %d (%s); submit fewer tasks together", submissions, limit.most, limit.flag))
		}
	}
	if l.most.Active > 0 || l.most.Waiting > 0 {
		has := l.reader.Usage(user)
		if most := l.most.Active; most > 0 && has.Active+a.submits+submissions > most {
			return task.ErrLimit(afterActive, "you have %d active tasks, and the limit per user is %d (--max-active-tasks); nothing was stored, wait until tasks end or stop some", has.Active, most)
		}
		if most := l.most.Waiting; most > 0 && has.Waiting+a.submits+submissions > most {
			return task.ErrLimit(afterWaiting, "you have %d tasks without Jobs, and the limit per user is %d (--max-waiting-tasks); nothing was stored, try again later", has.Waiting, most)
		}
	}
	if a.rate == nil {
		return nil
	}
	slot := a.rate.ReserveN(time.Now(), submissions)
	if wait := slot.Delay(); wait > 0 {
		slot.Cancel()
		return task.ErrLimit(wait, "you submit more than %g tasks per second, the limit per user (--submit-rate, bursts of up to %d); nothing was stored, try again later", l.most.SubmitRate, l.most.SubmitBurst)
	}
	return nil
}

// Release ends a reservation of this many submissions.
func (l *Limits) Release(user string, submissions int) {
	if !l.isLimited() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usageOf(user).submits -= submissions
}

// Upload reserves size bytes for an archive of a user until the caller calls stored. If
// size is negative, Upload reserves all bytes that the user has left. The error is of kind
// problem.Forbidden if size exceeds the whole limit, or else of kind problem.LimitReached.
func (l *Limits) Upload(user, sum string, size int64) (left int64, stored func(), err error) {
	most := l.most.UploadBytes
	if most <= 0 {
		return math.MaxInt64, func() {}, nil
	}
	if size > most {
		return 0, nil, problem.New(problem.Forbidden, fmt.Sprintf("the archive has %d bytes, and the limit of all uploads per user is %d (--max-user-uploads); leave out files that the task does not need, or put them on a volume", size, most))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.usageOf(user)
	has := l.reader.Usage(user).UploadBytes - l.reader.UploadSize(user, sum) + a.uploading
	left = most - has
	if left <= 0 || size > left {
		return 0, nil, task.ErrLimit(afterUpload, "you have %d bytes of uploads, and the limit per user is %d (--max-user-uploads); wait until unused uploads expire", has, most)
	}
	if size >= 0 {
		left = size
	}
	a.uploading += left
	return left, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.usageOf(user).uploading -= left
	}, nil
}

// Usage returns the usage of a user, without the open streams.
func (l *Limits) Usage(user string) task.Usage {
	if l.reader == nil {
		return task.Usage{}
	}
	return l.reader.Usage(user)
}

// Most returns the limits of each user, 0 for none.
func (l *Limits) Most() task.UserLimits { return l.most }
