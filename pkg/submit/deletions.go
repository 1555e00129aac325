package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// firstRetry is how long after a deletion that the API server accepted it is asked
// for again, if nothing is seen of it; each time it is twice as long, up to maxRetry.
// What the watch brings comes earlier.
const (
	firstRetry = informerGrace
	maxRetry   = 32 * time.Second
)

// pendingDeletions are the deletions of Jobs that the API server has accepted, so that
// none is asked for at every change that is seen until the Job is gone: its pods
// go one by one.
type pendingDeletions struct {
	mu         sync.Mutex
	firstRetry time.Duration               // see firstRetry
	all        map[string]*pendingDeletion // by the Job's name
}

type pendingDeletion struct {
	uid        string
	acceptedAt time.Time
	retryAfter time.Duration // from then until it is asked for again
	observed   bool          // the informers showed the Job, so that they see it go
}

// state returns what is known of the deletion of a Job that the informers show as
// shown, nil if they show none: it is gone, since it was seen to go; or it is
// under way, and there is nothing to ask.
func (e *pendingDeletions) state(name string, shown *task.Job) (gone, pending bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.all[name]
	if x == nil {
		return false, false
	}
	there := shown != nil && shown.UID == x.uid
	x.observed = x.observed || there
	if x.observed && !there {
		delete(e.all, name)
		return true, false
	}
	return false, time.Since(x.acceptedAt) < x.retryAfter
}

// accepted notes that a deletion was accepted, or that nothing is to be done for now.
func (e *pendingDeletions) accepted(name, uid string, shown *task.Job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]*pendingDeletion{}
	}
	wait := e.firstRetry
	if before := e.all[name]; before != nil && before.uid == uid {
		wait = min(2*before.retryAfter, maxRetry)
	}
	e.all[name] = &pendingDeletion{uid: uid, acceptedAt: time.Now(), retryAfter: wait, observed: shown != nil && shown.UID == uid}
}

// clear forgets all: another controller has led since.
func (e *pendingDeletions) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.all)
}

// drop forgets a Job of which nothing is left.
func (e *pendingDeletions) drop(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, name)
}
