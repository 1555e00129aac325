package api

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"k8s-cli/pkg/task"
)

// A UsageReader says what users have, as of the log that this pod has folded.
type UsageReader interface {
	Usage(user string) task.Usage               // without what is open on a pod
	UploadSize(user, sum string) (bytes int64)  // of an archive that the user has; 0 if not
	Submitted(user, idempotencyKey string) bool // whether a submission of this key was accepted
}

// How long to wait before a limit may not be reached any more.
const (
	afterActive  = 5 * time.Second // a task has to end
	afterWaiting = time.Second     // a Job has to be created
	afterUpload  = time.Minute     // files have to become old
)

const maxTracked = 4096 // from which on those that say nothing are dropped

// limits hold users to what they may have at once. What is on its way to the log
// counts as if it were there: so two requests of one pod do not both get the last
// place. Those of two pods may.
type limits struct {
	most   task.UserLimits
	reader UsageReader

	mu    sync.Mutex
	users map[string]*userUsage
}

// A userUsage is what one user has here that the log does not know of, or not yet.
type userUsage struct {
	submits   int   // under way
	uploading int64 // bytes
	rate      *rate.Limiter
}

func newLimits(most task.UserLimits, meter UsageReader) *limits {
	if most.SubmitRate > 0 && most.SubmitBurst <= 0 {
		most.SubmitBurst = max(1, int(math.Ceil(most.SubmitRate)))
	}
	return &limits{most: most, reader: meter, users: map[string]*userUsage{}}
}

// usageOf returns the usage of a user. It is called with the lock held.
func (l *limits) usageOf(user string) *userUsage {
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

// prune drops accounts that are as a new one would be.
func (l *limits) prune() {
	for user, a := range l.users {
		if a.submits == 0 && a.uploading == 0 && (a.rate == nil || a.rate.Tokens() >= float64(l.most.SubmitBurst)) {
			delete(l.users, user)
		}
	}
}

// isLimited reports whether there is any limit on submissions.
func (l *limits) isLimited() bool {
	return l.most.Active > 0 || l.most.Waiting > 0 || l.most.SubmitRate > 0
}

// reserve lets a user hand in one more task, for which submitted is to be called
// once the log has it. The error is of kind task.ErrTooMany. A request that is
// repeated under its key is no task more.
func (l *limits) reserve(user, key string) error {
	if !l.isLimited() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.usageOf(user)
	if err := l.checkCapacity(user, key, a); err != nil {
		return err
	}
	a.submits++
	return nil
}

func (l *limits) checkCapacity(user, key string, a *userUsage) error {
	if key != "" && l.reader.Submitted(user, key) {
		return nil
	}
	if l.most.Active > 0 || l.most.Waiting > 0 {
		has := l.reader.Usage(user)
		if most := l.most.Active; most > 0 && has.Active+a.submits >= most {
			return task.ErrLimit(afterActive, "you have %d active tasks, and the limit per user is %d (--max-active-tasks); nothing was stored, wait until tasks end or stop some", has.Active, most)
		}
		if most := l.most.Waiting; most > 0 && has.Waiting+a.submits >= most {
			return task.ErrLimit(afterWaiting, "you have %d tasks without Jobs, and the limit per user is %d (--max-waiting-tasks); nothing was stored, try again later", has.Waiting, most)
		}
	}
	if a.rate == nil {
		return nil
	}
	slot := a.rate.Reserve()
	if wait := slot.Delay(); wait > 0 {
		slot.Cancel()
		return task.ErrLimit(wait, "you submit more than %g tasks per second, the limit per user (--submit-rate, bursts of up to %d); nothing was stored, try again later", l.most.SubmitRate, l.most.SubmitBurst)
	}
	return nil
}

// release ends what reserve began.
func (l *limits) release(user string) {
	if !l.isLimited() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usageOf(user).submits--
}

// upload lets a user store an archive of so many bytes, or of as many as there is
// room for if size is negative, until stored is called. The error is of kind
// task.ErrForbidden if there can be no room for it, else of kind task.ErrTooMany.
func (l *limits) upload(user, sum string, size int64) (left int64, stored func(), err error) {
	most := l.most.UploadBytes
	if most <= 0 {
		return math.MaxInt64, func() {}, nil
	}
	if size > most {
		return 0, nil, task.Error(task.ErrForbidden, fmt.Sprintf("the archive has %d bytes, and the limit of all uploads per user is %d (--max-user-uploads); leave out files that the task does not need, or put them on a volume", size, most))
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

// usage returns what a user has, without the streams that are open.
func (l *limits) usage(user string) task.Usage {
	if l.reader == nil {
		return task.Usage{}
	}
	return l.reader.Usage(user)
}
